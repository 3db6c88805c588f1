"""The code stays in pieces that one can read at a sitting, under names that say what they hold."""

import ast
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import ROOT
from tests.house.parsed import tree_of

FOLDERS = ("app", "graders", "migrations", "benchmarks", "tools", "tests")
# What students and attackers wrote is kept as it is.
NOT_OURS = (ROOT / "tests" / "cases", ROOT / "tests" / "attacks")
FILE_LINES, FILE_MEDIAN = 400, 150
FUNCTION_LINES, FUNCTION_MEDIAN = 50, 10
SHORT_FUNCTION_LINES, SHORT_SHARE = 30, 0.9
UNTYPED_LINES = 59  # where JSON comes in or goes out, and libraries that say no more; it only ever falls
FRAGMENT_LINES, FRAGMENT_SHARE = 8, 0.12
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def files() -> Iterator[Path]:
    """Yield every Python file of ours."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(path.is_relative_to(one) for one in NOT_OURS):
                yield path


def product() -> list[Path]:
    """Return those that are not tests."""
    return [path for path in files() if not path.is_relative_to(ROOT / "tests")]


def named(path: Path) -> str:
    """Return a file's path as one would write it."""
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a file, with its number of lines from `def` to the last."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield f"{named(path)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def lines(path: Path) -> int:
    """Return a file's number of lines."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_too_long() -> None:
    """A file that has grown past the limit holds more than one thing."""
    assert {named(path): lines(path) for path in files() if lines(path) > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    """A function that has grown past the limit does more than one thing."""
    found = [one for path in files() for one in functions(path)]
    assert {name: length for name, length in found if length > FUNCTION_LINES} == {}


def test_most_files_and_functions_are_short() -> None:
    """Limits alone would be met by many that just keep to them."""
    assert statistics.median(lines(path) for path in product()) <= FILE_MEDIAN
    lengths = [length for path in product() for _, length in functions(path)]
    assert statistics.median(lengths) <= FUNCTION_MEDIAN


def test_nine_functions_of_ten_are_read_at_a_glance() -> None:
    """The limit is for the few that are one thing and long."""
    lengths = [length for path in product() for _, length in functions(path)]
    assert sum(length <= SHORT_FUNCTION_LINES for length in lengths) >= SHORT_SHARE * len(lengths)


def test_few_functions_are_fragments() -> None:
    """
    A private function of a few lines that is called once is often a step whose name says no more than it.

    One that is handed over, as a callback or in a table, has to be a function.
    """
    count, fragments = 0, []
    for path in product():
        tree = tree_of(path)
        used = Counter(filter(None, map(name_of, ast.walk(tree))))
        called = Counter(name_of(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
        for function, length in functions(path):
            name = function.rpartition(" ")[2]
            count += 1
            is_private = name.startswith("_") and not name.startswith("__")
            if is_private and length < FRAGMENT_LINES and used[name] == called[name] == 1:
                fragments.append(function)
    assert len(fragments) <= FRAGMENT_SHARE * count, fragments


def name_of(node: ast.AST) -> str:
    """Return what a name or an attribute is called; an empty text for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_has_an_empty_name(folder: str) -> None:
    """`utils` and its kin say nothing of what is in them, and so everything ends up there."""
    found = [
        path
        for path in (ROOT / folder).rglob("*")
        if EMPTY_NAMES & set(path.stem.lower().split("_")) and path.suffix in {"", ".py"}
    ]
    assert found == []


def test_few_lines_have_values_of_any_type_by_name() -> None:
    """What is `dict[str, Any]` is checked by nobody: a value keeps its type from where it is read to its edge."""
    found = [
        f"{named(path)}:{number}"
        for path in product()
        if path.is_relative_to(ROOT / "app") or path.is_relative_to(ROOT / "graders")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "dict[str, Any]" in line
    ]
    assert len(found) <= UNTYPED_LINES, found
