"""
Drawing the data of the trials from the run's seed.

The lesson's trial uses the starting code as written. A fresh trial changes its parameters. Each
comes as a number, from which the student's and the judge's process draw the same values, and draw
again until the exercise's `require` holds, without a process of its own to find out which.
"""

import itertools
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graders.faults import GraderFault
from graders.task import Task

Values = dict[str, object]
Params = Mapping[str, Mapping[str, Any]]

MAX_CANDIDATES = 5000  # for one trial: `graders.starting_code` asks most of them little
_TRIES = 200
_SEED_BYTES = 8
_SEED_BITS = 48
_CONSONANTS, _VOWELS = "bdfghklmnprstvw", "aeiou"


class Draw(dict[str, Any]):
    """Values of the parameters in one trial, and what its seeds are made from."""

    def __init__(self, values: Values, *, seeds: str | None) -> None:
        """`seeds`: of the trial; None leaves the starting code's as they are written, as the lesson's trial does."""
        super().__init__(values)
        self.seeds = seeds

    @property
    def is_lesson(self) -> bool:
        """Is everything as it is written?"""
        return self.seeds is None


@dataclass(frozen=True)
class TrialRequest:
    """One trial as the parent has it; the student's process gets each part when it is needed."""

    draw: int | None  # what its values are drawn from; None: the lesson's, as written
    seed: int  # of the random cotangent; the student's process gets it only after its code has ended on this trial


def new_seed() -> str:
    """A seed that nobody can guess, as text."""
    return secrets.token_hex(_SEED_BYTES)


def draw_trials(task: Task, seed: str) -> list[TrialRequest]:
    """The lesson's trial and the fresh ones."""
    dice = random.Random(f"{task.exercise}:{seed}")  # noqa: S311  the seed is what is secret
    lesson = TrialRequest(None, dice.getrandbits(_SEED_BITS))
    fresh = [TrialRequest(dice.getrandbits(_SEED_BITS), dice.getrandbits(_SEED_BITS)) for _ in range(task.fresh_trials)]
    return [lesson, *fresh]


def candidates(params: Params, draw: int | None) -> Iterator[Draw]:
    """
    The values that a trial's parameters may take, to be tried in turn.

    Args:
        params: by name, how each is drawn; as in `Task`.
        draw: the trial's number; None for the lesson.

    Raises:
        GraderFault: the exercise's ranges leave no room for sizes that all differ.
    """
    if draw is None:
        yield Draw({}, seeds=None)
        return
    dice = random.Random(draw)  # noqa: S311  the number comes from a secret seed
    for number in range(MAX_CANDIDATES):
        yield Draw(_draw(params, dice), seeds=f"{draw}:{number}")


def _draw(params: Params, dice: random.Random) -> Values:
    """Values for all parameters; the whole numbers all differ, among each other and from the lesson's own."""
    values: Values = {}
    values |= _sizes({name: rule for name, rule in params.items() if rule["kind"] == "integer"}, dice)
    rest = [one for one in params.items() if one[0] not in values]
    for name, rule in sorted(rest, key=lambda one: one[1]["kind"] == "integers"):
        values[name] = _GENERATORS[rule["kind"]]({**rule, "drawn": values}, dice)
    return values


def _sizes(rules: Mapping[str, Mapping[str, Any]], dice: random.Random) -> dict[str, int]:
    for _ in range(_TRIES):
        sizes = {name: _integer(rule, dice) for name, rule in rules.items()}
        fresh = all(value != rules[name].get("lesson") for name, value in sizes.items())
        if fresh and len(set(sizes.values())) == len(sizes):
            return sizes
    raise GraderFault("the ranges of this exercise's parameters leave no room for sizes that all differ")


def _integer(rule: Mapping[str, Any], dice: random.Random) -> int:
    step = int(rule.get("multiple_of", 1))
    low, high = int(rule["low"]), int(rule["high"])
    return dice.randrange(-(-low // step), high // step + 1) * step


def _vocabulary(rule: Mapping[str, Any], dice: random.Random) -> list[str]:
    """
    Invented words over a random set of letters.

    The last letter of the alphabet in use stands in one word only, so that a batch without it is easy to draw:
    code that takes the size of the vocabulary from a batch shows itself.
    """
    consonants = sorted(dice.sample(_CONSONANTS, dice.randint(7, 13)))
    before = [vowel for vowel in _VOWELS if vowel < consonants[-1]]  # three at least, as there are seven consonants
    vowels = dice.sample(before, dice.randint(3, len(before)))
    count = dice.randint(rule["low"], rule["high"])
    words = _invented(count, consonants[:-1], vowels, dice)
    words[dice.randrange(count)] += consonants[-1]
    return words


def _invented(count: int, consonants: list[str], vowels: list[str], dice: random.Random) -> list[str]:
    """Words of one to three syllables, every other one closed; drawn all at once, which is ten times as quick."""
    lengths = dice.choices((1, 2, 3), k=count)
    heads = iter(dice.choices(consonants, k=sum(lengths)))
    tails = iter(dice.choices(vowels, k=sum(lengths)))
    syllables = map(str.__add__, heads, tails)
    ends = dice.choices(["", *consonants], weights=[len(consonants), *(1 for _ in consonants)], k=count)
    return ["".join(itertools.islice(syllables, length)) + end for length, end in zip(lengths, ends, strict=True)]


def _number(rule: Mapping[str, Any], dice: random.Random) -> float:
    return round(dice.uniform(rule["low"], rule["high"]), 3)


def _integers(rule: Mapping[str, Any], dice: random.Random) -> list[int]:
    """Ids below a bound, which may be another parameter's value in the same trial."""
    below = int(rule["drawn"].get(rule["below"], 0) if isinstance(rule["below"], str) else rule["below"])
    return [dice.randrange(below) for _ in range(dice.randint(rule["low"], rule["high"]))] if below > 0 else []


def _choice(rule: Mapping[str, Any], dice: random.Random) -> int | float | str | bool:
    return dice.choice(rule["values"])  # type: ignore[no-any-return]


_GENERATORS: dict[str, Callable[[Mapping[str, Any], random.Random], Any]] = {
    "integer": _integer,
    "number": _number,
    "integers": _integers,
    "words": _vocabulary,
    "choice": _choice,
}
