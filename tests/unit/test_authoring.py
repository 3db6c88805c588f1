"""Authors' files are read strictly: a valid exercise, or every fault with its file, line and column."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.authoring import (
    CodeExercise,
    ExerciseFaults,
    FileFault,
    Question,
    load_code_exercise,
    load_exercise,
    stored_exercise,
)
from app.authoring.files import MAX_FILE_BYTES
from app.authoring.self_test.mutants import mutants
from app.cli import main
from app.settings import ROOT

Write = Callable[[str | bytes], Path]
QUESTION = """\
format: 1
kind: question
id: how-many
title: How many?
statement: How many numbers does a table of 19 rows of 32 hold?
answer: {number: 608}
explanation: 19 * 32.
wrong:
  - {tag: added, answer: 51, message: Rows and columns make a rectangle.}
licence: CC-BY-4.0
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Give a function that writes an exercise.yaml and returns its folder."""

    def written(text: str | bytes) -> Path:
        (tmp_path / "exercise.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return written


@pytest.fixture
def example(tmp_path: Path) -> str:
    """Return the text that `kelolo new` writes."""
    assert main(["new", str(tmp_path / "an-example")]) == 0
    return (tmp_path / "an-example" / "exercise.yaml").read_text()


def found_in(folder: Path) -> tuple[FileFault, ...]:
    """Return the faults of a file that may have none."""
    try:
        load_exercise(folder)
    except ExerciseFaults as wrong:
        return wrong.faults
    return ()


def faults(folder: Path) -> list[str]:
    """Return the faults as `line:column: message`."""
    with pytest.raises(ExerciseFaults) as caught:
        load_exercise(folder)
    return [f"{one.line}:{one.column}: {one.message}" for one in caught.value.faults]


def test_the_example_is_valid_and_comes_back_from_its_content(write: Write, example: str) -> None:
    """What `kelolo new` writes can be read, stored and read again."""
    exercise = load_exercise(write(example))
    assert isinstance(exercise, CodeExercise)
    assert stored_exercise(exercise.content()) == exercise


def test_a_question_is_valid_and_comes_back_from_its_content(write: Write) -> None:
    """Questions are exercises too."""
    question = load_exercise(write(QUESTION))
    assert isinstance(question, Question)
    assert stored_exercise(question.content()) == question


def test_all_faults_are_told_at_once_each_at_its_place(write: Write, example: str) -> None:
    """An unknown key, a missing one, a wrong type and a name that does not exist: one reading, four lines."""
    text = example.replace("title: An example\n", "titel: An example\n").replace(
        "rows: {lesson: 4,", "rows: {lesson: four,"
    )
    told = faults(write(text))
    assert any("`titel` is not a key" in one for one in told)
    assert any("`title` is missing" in one for one in told)
    assert any("lesson" in one and "integer" in one for one in told)
    line = text.splitlines().index("titel: An example") + 1
    assert any(one.startswith(f"{line}:1:") for one in told)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("format: 1", "format: 1\nformat: 1", "second time"),
        ("format: 1", "format: 2", "format"),
        ("id: an-example", "id: &name an-example", "Anchors"),
        ("title: An example", "title: *name", "Aliases"),
        ("title: An example", "title: !!str An example", "Tags"),
        ("title: An example", "title: 12", "title"),
        ("title: An example", "title: {file: ../../secret}", "outside"),
        ("title: An example", "title: {file: missing.md}", "no file"),
        ("doubled = x * 2\n", "doubled = x *\n", "not Python"),
        ("equal: doubled", "equal: trebled", "not an output"),
        ("failing: [doubled]", "failing: [trebled]", "no check"),
        ("  rows: {lesson", "  lines: {lesson", "no line"),
        ("integer: [2, 9]", "integer: [9, 2]", "first"),
        ("integer: [2, 9]", "interger: [2, 9]", "exactly one of"),
        ("other_sizes: true", "other_sizes: true\n    table: doubled", "exactly one"),
        ("format: 1", "format: 1\n---\nformat: 1", "one document"),
        ("format: 1", "format: [1", "not YAML"),
        ("setup: |", "judge: |\n  spare = 1\nsetup: |", "Nobody uses `spare` (its line 1)"),
        ("setup: |", "judge: |\n  doubled = 1\nsetup: |", "which is an output"),
        ("setup: |", "judge: |\n  x = 1\nsetup: |", "which is the starting code's"),
        ("setup: |", "judge: |\n  missing = 1\nsetup: |", "a fact that"),
        ("setup: |", "judge: |\n  sum = 1\nsetup: |", "which is Python's own"),
        ("setup: |", "judge: |\n  from torch import *\nsetup: |", "not known before it is run"),
        ("setup: |", "judge: |\n  return 1\nsetup: |", "cannot be run"),
        ("setup: |", "judge: |\n  a = (\nsetup: |", "not Python"),
        ("setup: |", "judge: |\n  a = 1\nrequire: a > 0\nsetup: |", "`require` is asked before"),
    ],
)
def test_a_fault_is_told_in_words(write: Write, example: str, old: str, new: str, words: str) -> None:
    """Each kind of fault has a sentence that says what is wrong."""
    assert old in example
    assert any(words in one for one in faults(write(example.replace(old, new))))


@pytest.mark.parametrize(
    "text",
    [
        b"a: &a [1]\nb: *a\n" + b"".join(b"k%d: &k%d [*a, *a, *a, *a]\n" % (n, n) for n in range(200)),
        b"[" * 5000,
        b"a: " + b"{a: " * 5000,
        b"- " * 3000 + b"x",
        b"x: " + b"y" * (10 * 2**20),
        b"\xff\xfe\x00",
        b"",
        b"just a text",
        b"? [a, b]\n: c\n",
    ],
    ids=["alias bomb", "deep list", "deep mapping", "deep dashes", "10 MB", "not UTF-8", "empty", "a text", "odd key"],
)
def test_a_bomb_is_refused_fast(write: Write, text: bytes) -> None:
    """What could blow up is refused before it is built."""
    folder = write(text)
    begun = time.monotonic()
    assert faults(folder)
    assert time.monotonic() - begun < 5


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_text_is_an_exercise_or_has_faults(write: Write, text: bytes) -> None:
    """Never a traceback."""
    faults(write(text))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_exercise_is_an_exercise_or_has_faults(write: Write, data: st.DataObject) -> None:
    """Lines dropped, doubled or garbled in a real file lead to faults with a line that exists, or to an exercise."""
    lines = (
        (ROOT / "app/authoring/template/exercise.yaml").read_text().replace("{{", "{").replace("}}", "}").splitlines()
    )
    number = data.draw(st.integers(0, len(lines) - 1))
    damage = data.draw(st.sampled_from(["drop", "double", "indent", "replace"]))
    replaced = {
        "drop": [],
        "double": [lines[number]] * 2,
        "indent": ["  " + lines[number]],
        "replace": [data.draw(st.text(max_size=30))],
    }
    text = "\n".join([*lines[:number], *replaced[damage], *lines[number + 1 :]])
    found = found_in(write(text.encode("utf-8", "replace")))
    assert all(1 <= one.line <= text.count("\n") + 3 for one in found)


def test_a_bad_limit_is_a_fault_like_any_other() -> None:
    """The bound on a file's size is one that real exercises keep."""
    for path in (ROOT / "exercises").rglob("exercise.yaml"):
        assert path.stat().st_size < MAX_FILE_BYTES


def test_a_question_where_code_is_expected_is_told(write: Write) -> None:
    """Loading code from a question is refused in words."""
    with pytest.raises(ExerciseFaults, match="question"):
        load_code_exercise(write(QUESTION))


FUNCTION = """
def look_up(ids):
    LOCAL = ids * 3
    other = LOCAL + 1
    return other - LOCAL
kept = look_up(x)
"""


def test_mutants_of_a_function_do_not_hang_on_its_variables_names(write: Write, example: str) -> None:
    """A local variable that is spelled like an output is changed just as any other is."""
    exercise = load_exercise(write(example))
    assert isinstance(exercise, CodeExercise)
    first = exercise.outputs[0]
    outputs = [first, first.model_copy(update={"name": "like_an_output"})]

    def mutated(local: str) -> set[str]:
        update = {"outputs": outputs, "solution": FUNCTION.replace("LOCAL", local)}
        return {one.source.replace(local, "LOCAL") for one in mutants(exercise.model_copy(update=update))}

    assert mutated("like_an_output") == mutated("another")
    assert len(mutated("another")) > 10
