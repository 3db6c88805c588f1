"""Each kind of parameter is drawn from the whole of its range, and from nothing else."""

import itertools
from collections.abc import Mapping

import pytest

from graders.faults import GraderFault
from graders.task import Check, Output, Task
from graders.trials import MAX_CANDIDATES, Draw, TrialRequest, candidates, draw_trials, new_seed

Rule = Mapping[str, object]
MANY = 400


def drawn(rules: Mapping[str, Rule], name: str, times: int = MANY) -> list[object]:
    """Return what a parameter was, in so many draws of all."""
    return [values[name] for values in itertools.islice(candidates(rules, 1), times)]


def test_lesson_is_as_it_is_written() -> None:
    """No value is drawn for it, and it leaves the seeds alone; a fresh trial has seeds of its own for each draw."""
    (lesson,) = candidates({"n": {"kind": "integer", "low": 1, "high": 9}}, None)
    assert (lesson, lesson.seeds, lesson.is_lesson) == ({}, None, True)
    first, second = itertools.islice(candidates({}, 5), 2)
    assert (first.seeds, second.seeds) == ("5:0", "5:1")
    assert first.is_lesson is Draw({}, seeds="").is_lesson is False


def test_draws_of_a_trial_come_to_an_end() -> None:
    """A requirement that nothing fulfils is given up, after thousands of draws."""
    assert sum(1 for _ in candidates({}, 1)) == MAX_CANDIDATES == 5000


def test_trials_are_the_lesson_and_as_many_fresh_ones_as_the_task_has() -> None:
    """Of one exercise and one seed; each with numbers of its own, up to 48 bits long."""
    task = Task(
        exercise="e",
        version=1,
        setup="",
        solution="h = 1",
        outputs=(Output(name="h"),),
        checks=(Check(id="h", title="h", kind="value", of="h"),),
        fresh_trials=50,
    )
    trials = draw_trials(task, "seed")
    assert len(trials) == 51
    assert [one.draw is None for one in trials] == [True] + [False] * 50
    numbers = [one.seed for one in trials] + [one.draw for one in trials if one.draw is not None]
    assert len(set(numbers)) == 101
    assert 2**47 <= max(numbers) < 2**48
    assert all(isinstance(one, TrialRequest) for one in trials)


def test_new_seed_is_hard_to_guess() -> None:
    """Sixty-four bits, as text."""
    seeds = {new_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert {len(bytes.fromhex(seed)) for seed in seeds} == {8}


def test_whole_numbers_are_of_their_range() -> None:
    """Both ends included."""
    assert set(drawn({"n": {"kind": "integer", "low": 3, "high": 6}}, "n")) == {3, 4, 5, 6}


def test_whole_numbers_are_multiples() -> None:
    """From the first in the range to the last, and never beyond an end that is none itself."""
    rule = {"kind": "integer", "low": 5, "high": 19, "multiple_of": 4}
    assert set(drawn({"n": rule}, "n")) == {8, 12, 16}
    ends = {"kind": "integer", "low": 8, "high": 16, "multiple_of": 4}
    assert set(drawn({"n": ends}, "n")) == {8, 12, 16}


def test_lessons_own_number_is_never_drawn() -> None:
    """Or else a fresh trial would be no other."""
    assert set(drawn({"n": {"kind": "integer", "low": 3, "high": 5, "lesson": 4}}, "n")) == {3, 5}


def test_sizes_that_mostly_clash_are_drawn_until_they_do_not() -> None:
    """Three numbers for three sizes leave six ways out of twenty-seven, and one of them is found each time."""
    rule = {"kind": "integer", "low": 1, "high": 3}
    for values in itertools.islice(candidates({"a": rule, "b": rule, "c": rule}, 3), MANY):
        assert sorted(values.values()) == [1, 2, 3]


def test_range_of_the_lessons_number_alone_leaves_no_room() -> None:
    """It is the exercise's fault."""
    with pytest.raises(GraderFault):
        next(candidates({"n": {"kind": "integer", "low": 4, "high": 4, "lesson": 4}}, 1))


def test_numbers_are_of_their_range_with_three_places() -> None:
    """So that what is told of them can be read."""
    values = drawn({"x": {"kind": "number", "low": 0.2, "high": 0.3}}, "x")
    assert all(isinstance(one, float) and 0.2 <= one <= 0.3 and one == round(one, 3) for one in values)
    assert len(set(values)) > 80  # of 101, and not only ten


def test_choices_are_of_their_values() -> None:
    """Each of them, of whatever type."""
    assert set(drawn({"c": {"kind": "choice", "values": ["a", 2, True]}}, "c")) == {"a", 2, True}


def test_ids_are_below_a_bound() -> None:
    """As many as the range says, from nought to one below it."""
    lists = drawn({"ids": {"kind": "integers", "low": 2, "high": 4, "below": 3}}, "ids")
    assert {len(one) for one in lists if isinstance(one, list)} == {2, 3, 4}
    assert {number for one in lists if isinstance(one, list) for number in one} == {0, 1, 2}


def test_ids_below_another_parameter_follow_it() -> None:
    """Whichever comes first by name or in the file, it is drawn before."""
    rules: dict[str, Rule] = {
        "a_ids": {"kind": "integers", "low": 40, "high": 40, "below": "rows"},
        "rows": {"kind": "integer", "low": 2, "high": 9},
        "c_ids": {"kind": "integers", "low": 40, "high": 40, "below": "some"},
        "some": {"kind": "choice", "values": [1, 3]},
    }
    highest = set()
    for values in itertools.islice(candidates(rules, 2), MANY):
        assert max(values["a_ids"]) < values["rows"]
        assert max(values["c_ids"]) < values["some"]
        highest.add(max(values["a_ids"]) - values["rows"])
    assert -1 in highest


@pytest.mark.parametrize("below", [0, -1, "nothing"])
def test_ids_below_nothing_are_none(below: object) -> None:
    """There is no such id."""
    assert drawn({"ids": {"kind": "integers", "low": 2, "high": 4, "below": below}}, "ids", 20) == [[]] * 20


def test_ids_below_one_are_nought() -> None:
    """There is one such id."""
    rules = {"ids": {"kind": "integers", "low": 2, "high": 2, "below": 1}}
    assert drawn(rules, "ids", 20) == [[0, 0]] * 20


def vocabularies() -> list[list[str]]:
    """Return many vocabularies of five to nine words."""
    lists = drawn({"words": {"kind": "words", "low": 5, "high": 9}}, "words", 1500)
    return [[str(word) for word in one] for one in lists if isinstance(one, list)]


def test_words_are_as_many_as_the_range_says_and_of_small_letters() -> None:
    """Of consonants and vowels alone."""
    words = vocabularies()
    assert {len(one) for one in words} == {5, 6, 7, 8, 9}
    assert set("".join("".join(one) for one in words)) == set("bdfghklmnprstvwaeiou")


def test_alphabet_of_words_varies() -> None:
    """Seven to thirteen consonants and three to five vowels: many letters are not there."""
    letters = [set("".join(one)) for one in vocabularies()]
    vowels = {len(one & set("aeiou")) for one in letters}
    consonants = {len(one - set("aeiou")) for one in letters}
    assert max(vowels) == 5
    assert max(consonants) <= 13
    assert min(consonants) <= 7
    assert {3, 4, 5} <= vowels
    assert len(consonants) > 4


def test_last_letter_stands_in_one_word_only_and_ends_it() -> None:
    """So that a batch without it is easy to draw."""
    for words in vocabularies():
        last = max("".join(words))
        (bearer,) = [word for word in words if last in word]
        assert bearer.endswith(last)
        assert bearer.count(last) == 1


def test_words_have_one_to_three_syllables_and_half_of_them_are_closed() -> None:
    """A syllable is a consonant and a vowel; a closed word ends with a consonant more."""
    words = [word for one in vocabularies() for word in sorted(one, key=max)[:-1]]
    assert {sum(word.count(vowel) for vowel in "aeiou") for word in words} == {1, 2, 3}
    for word in words:
        assert all((letter in "aeiou") == (place % 2 == 1) for place, letter in enumerate(word)), word
    closed = sum(word[-1] not in "aeiou" for word in words)
    assert 0.4 < closed / len(words) < 0.6
