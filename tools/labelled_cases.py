"""Submissions with labels: what a good teacher would say of each, and how far a report agrees."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.settings import ROOT
from graders.report import CheckStatus, Report

CASES = ROOT / "tests/cases"
LABEL_FILES = ("labels.json", "own_labels.json")
NOBODYS = ("none", "")  # labels of submissions without a misconception


@dataclass(frozen=True)
class Case:
    """One labelled submission."""

    exercise: str
    path: Path
    label: dict[str, Any]

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return f"{self.exercise}/{self.path.name}"

    @property
    def right(self) -> bool:
        """Does the label call it right?"""
        return bool(self.label["verdict"] == "pass")

    @property
    def tag(self) -> str:
        """The misconception of its label, or an empty text."""
        tag = str(self.label["misconception"])
        return "" if tag in NOBODYS else tag

    @property
    def must_fail(self) -> set[str]:
        """Ids of the checks that must fail; labels write spaces where ids have hyphens."""
        return {one.replace(" ", "-").replace("_", "-") for one in self.label["failing"]}

    @property
    def may_fail(self) -> set[str]:
        """Ids of those that may fail as well."""
        return {one.replace(" ", "-").replace("_", "-") for one in self.label["also_ok"]}


def cases(only: str = "") -> Iterator[Case]:
    """Every labelled submission, exercise by exercise."""
    for folder in sorted(CASES.iterdir()):
        if only not in ("", folder.name):
            continue
        for labels in (folder / name for name in LABEL_FILES):
            if labels.exists():
                for label in json.loads(labels.read_text(encoding="utf-8")):
                    yield Case(folder.name, folder / label["file"], label)


def reported(report: Report) -> set[str]:
    """Ids of the checks that failed."""
    return {one.id for one in report.checks if one.status is CheckStatus.FAILED}


def checks_as_labelled(case: Case, report: Report) -> bool:
    """Has all failed that must, and nothing that must not?"""
    return case.must_fail <= reported(report) <= case.must_fail | case.may_fail


def naming(case: Case, report: Report) -> str:
    """Right, not named, wrong, or on a right solution; an empty text if there is none to name and none is named."""
    found = report.misconception.tag if report.misconception else ""
    if case.right:
        return "on a right solution" if found else ""
    if not case.tag:
        return "wrong" if found else ""
    if not found:
        return "not named"
    return "right" if found == case.tag else "wrong"
