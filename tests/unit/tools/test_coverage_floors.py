"""A package that is covered less than before is told, and so is one without a floor."""

import tomllib
from pathlib import Path

import pytest

from tools import coverage_floors
from tools.coverage_floors import faults_of, percent_by_package, written


def counted(lines: int, covered: int, branches: int = 0, taken: int = 0) -> dict[str, dict[str, float]]:
    """Return what coverage says of a file."""
    summary = {
        "num_statements": lines,
        "covered_lines": covered,
        "num_branches": branches,
        "covered_branches": taken,
    }
    return {"summary": dict(summary)}


def test_lines_and_branches_of_a_package_are_counted_together() -> None:
    """Its modules and whatever is deeper are one; its neighbours are others; an empty package is none."""
    files = {
        "app/web/tutor/routes.py": counted(6, 6, 2, 1),
        "app/web/tutor/deeper/one.py": counted(2, 0),
        "app/web/plans/pages.py": counted(4, 1),
        "app/clock.py": counted(3, 3),
        "app/web/__init__.py": counted(0, 0),
    }
    assert percent_by_package(files) == {"app": 100, "app/web/plans": 25, "app/web/tutor": 70}


def test_package_below_its_floor_is_told() -> None:
    """At the floor it is well."""
    floors = {"app": 90.0, "graders": 80.0}
    assert faults_of({"app": 90.0, "graders": 80.1}, floors) == []
    assert faults_of({"app": 89.9, "graders": 80.0}, floors) == ["app: 89.9 %, and its floor is 90 %"]


def test_every_package_has_a_floor_and_every_floor_a_package() -> None:
    """Or else a new package would be measured by nobody."""
    assert faults_of({"new": 50.0}, {"gone": 50.0}) == [
        "new: 50.0 %, and it has no floor",
        "gone: it has a floor, and is not there",
    ]


def test_floors_are_a_point_below_what_was_measured() -> None:
    """In whole percent, and never below nothing."""
    assert tomllib.loads(written({"app": 91.9, "graders": 0.5})) == {"app": 90, "graders": 0}


def test_command_fails_below_a_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And writes floors that hold for what it has just measured."""
    measured, floors = tmp_path / "coverage.json", tmp_path / "floors.toml"
    measured.write_text('{"files": {"app/clock.py": {"summary": {"num_statements": 4, "covered_lines": 3}}}}')
    monkeypatch.setattr(coverage_floors, "FLOORS", floors)
    monkeypatch.setattr("sys.argv", ["coverage_floors", str(measured), "--write"])
    assert coverage_floors.main() == 0
    monkeypatch.setattr("sys.argv", ["coverage_floors", str(measured)])
    assert coverage_floors.main() == 0
    floors.write_text('"app" = 76\n')
    assert coverage_floors.main() == 1
    assert "app: 75.0 %, and its floor is 76 %" in capsys.readouterr().out
