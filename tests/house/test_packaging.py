"""What is installed is the product, and what developers run beside it depends on the product, never the other way."""

import ast
import tomllib
from collections.abc import Iterator

import pytest
from setuptools import find_packages

from app.settings import ROOT
from tests.house.parsed import tree_of

PRODUCT = {"app", "graders"}
BESIDE = {"benchmarks", "tests", "tools"}


def imported(folder: str) -> Iterator[tuple[str, str]]:
    """Yield each file of a folder with each top-level name that it imports."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.is_relative_to(ROOT / "tests" / "attacks") or path.is_relative_to(ROOT / "tests" / "cases"):
            continue  # what students and attackers wrote
        for node in ast.walk(tree_of(path)):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            yield from ((str(path.relative_to(ROOT)), name.partition(".")[0]) for name in names)


def test_only_the_product_is_installed() -> None:
    """No package called `benchmarks`, `tests` or `tools` lands beside everybody else's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = find_packages(str(ROOT), **project["tool"]["setuptools"]["packages"]["find"])
    assert {name.partition(".")[0] for name in found} == PRODUCT


@pytest.mark.parametrize("folder", sorted(PRODUCT))
def test_product_imports_nothing_that_is_not_installed(folder: str) -> None:
    """It runs where only it is."""
    assert [(path, name) for path, name in imported(folder) if name in BESIDE] == []


@pytest.mark.parametrize("folder", ["tests", "tools"])
def test_nothing_imports_the_benchmarks(folder: str) -> None:
    """A script that prints a figure is changed without a look at the tests: what both need is in `tools`."""
    found = list(imported(folder))
    assert len(found) > 10
    assert [path for path, name in found if name == "benchmarks"] == []
