"""What the project says of itself in several places is the same everywhere."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app import errors
from app.errors import AppError
from app.settings import ROOT, Settings

TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".html", ".css", ".js", ".mako", ".json", ""}
SKIPPED = {"node_modules", "__pycache__", "data"}
# Where attacks are tried, paths of machines are what they reach for.
HOSTILE = {"attacks", "sandbox"}
PINNED = re.compile(r"[a-z0-9._-]+(\[[a-z0-9,]+\])?==[0-9][a-z0-9.+]*")


def test_readme_and_ci_run_the_same_tests() -> None:
    """What the README tells people to run is what decides whether a change is taken."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", readme, flags=re.DOTALL | re.MULTILINE)
    commands = {line.split("#")[0].strip() for block in blocks for line in block.splitlines()}
    assert {"make run", "make test"} <= commands
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in ci if line.startswith("make ")] == ["make test", "make check"]
    assert "set -euo pipefail" in ci


def test_make_help_lists_every_command() -> None:
    """Whoever types `make` alone is told what there is."""
    told = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\w+)", told, flags=re.MULTILINE)) == {
        "help",
        "env",
        "run",
        "test",
        "quick",
        "coverage",
        "mutants",
        "check",
        "fix",
    }


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-torch.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned(name: str) -> None:
    """What works today works tomorrow, and on the next machine."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    loose = [line for line in lines if line and not line.startswith(("#", "-")) and not PINNED.fullmatch(line)]
    assert loose == []


def test_torch_is_the_cpu_build_wherever_it_is_named() -> None:
    """A CUDA build of several GB can never come by surprise."""
    for name in ("requirements.txt", "requirements-torch.txt"):
        (line,) = re.findall(r"^torch.*$", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert re.fullmatch(r"torch==[\d.]+\+cpu", line)


def test_no_file_names_a_folder_of_one_machine() -> None:
    """The project runs wherever it is put."""
    machine = re.compile(rf"{re.escape(str(ROOT))}/|/(home|Users|root)/\w")
    found = [
        str(path.relative_to(ROOT))
        for path in ours()
        if not HOSTILE & set(path.parts) and machine.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def test_errors_are_all_in_the_tree_that_heads_their_file() -> None:
    """Each with its status, and nothing else."""
    tree = dict(re.findall(r"[├└]── (\w+) +(\d{3})", errors.__doc__ or ""))
    defined = {
        name: str(one.status)
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, AppError) and one is not AppError
    }
    assert tree == defined


def test_every_setting_is_described() -> None:
    """Operators need not read the code."""
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_version_is_the_same_everywhere() -> None:
    """`kelolo --version` and the package agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = subprocess.run(
        [Path(sys.executable).with_name("kelolo"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert told == f"kelolo {project['version']}\n"


def ours() -> list[Path]:
    """Return every text file of the project."""
    tops = [top for top in ROOT.iterdir() if top.name == ".ci" or not top.name.startswith(".")]
    paths = [path for top in tops for path in (top.rglob("*") if top.is_dir() else [top])]
    return [
        path
        for path in paths
        if path.suffix in TEXT and path.is_file() and not SKIPPED & set(path.relative_to(ROOT).parts)
    ]


def test_no_test_starts_an_event_loop_in_its_own_thread() -> None:
    """Playwright's loop may be running there, and two cannot: `run_apart` in tests/conftest.py is for that."""
    starts = re.compile(r"\basyncio\.run\(|\brun_until_complete\(")
    students = ("test_promises.py", "test_concurrency.py")  # the latter's loops run in a student's process
    tests = (path for path in (ROOT / "tests").rglob("test_*.py") if path.name not in students)
    assert [path.name for path in tests if starts.search(path.read_text(encoding="utf-8"))] == []
