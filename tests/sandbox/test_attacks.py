"""
The corpus of misbehaving submissions: none gets through, none brings the grader down.

Line 1 of each file is a JSON header; what is submitted is all that follows it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import SourceRefused
from app.services.submissions.source_checks import checked_source
from graders.grader import Grader
from graders.report import Report

ATTACKS = Path(__file__).parent.parent / "attacks"
# Without namespaces these two end before they have tried anything: what they say then, and why.
STOPPED_WITHOUT_NAMESPACES = {
    "a038": "first pid namespace",  # its own safety catch, for services that do not refuse signals
    "a110": "Permission denied: '/proc'",  # it looks for traces there, and Landlock refuses even that
}
NEVER_ENDS = ["timeout", "killed"]
WORDS = {"time_limit": "timeout", "memory_limit": "memory", "crashed": "killed"}


def header(path: Path) -> dict[str, Any]:
    """Read the header of a case."""
    first = path.read_bytes().split(b"\n", 1)[0].lstrip(b"# ")
    read: dict[str, Any] = json.loads(first)
    return read


def source(path: Path) -> bytes:
    """Read what is submitted, with the known answers put in and repetitions written out."""
    body = path.read_bytes().split(b"\n", 1)[1]
    for mark, name in ((b"# @GOOD@", "good_solution.py"), (b"# @BAD@", "bad_solution.py")):
        body = body.replace(mark, (ATTACKS / "controls" / name).read_bytes())
    for token, text, count in header(path).get("expand", []):
        body = body.replace(token.encode(), text.encode() * count)
    return body


@pytest.mark.parametrize("path", sorted(ATTACKS.glob("a*.py")), ids=lambda path: path.stem)
def test_an_attack_is_held(
    grade: Callable[..., Report], grade_hastily: Callable[[str], Report], grader: Grader, path: Path
) -> None:
    """The verdict is one of those expected, nothing that must stay hidden is told, and the next submission passes."""
    expected = header(path)["expect"]
    try:
        never_ends = expected.get("verdict_any") == NEVER_ENDS
        report = (grade_hastily if never_ends else grade)(checked_source(source(path).decode()))
    except (UnicodeDecodeError, SourceRefused):
        assert "rejected" in expected.get("verdict_any", ["rejected"])
        return
    verdict = WORDS.get(report.verdict.value, report.verdict.value)
    said = json.dumps(report.to_json())
    stopped = STOPPED_WITHOUT_NAMESPACES.get(header(path)["id"])
    if stopped and not grader.in_namespaces:
        assert verdict == "error"
        assert stopped in said
        return
    assert verdict != expected.get("verdict_not")
    assert verdict in expected.get("verdict_any", [verdict])
    assert not [text for text in expected["must_not_contain"] if text in said]
