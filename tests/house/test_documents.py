"""What pages for people name is there: files, targets of `make`, settings, commands, addresses, metrics, numbers."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.entry import build_parser
from app.db import Database
from app.models import Period, Rule
from app.services import housekeeping
from app.services.administration import near_limit
from app.services.grading import queue
from app.services.plans import codes, plans, spent_quotas
from app.settings import ROOT, Settings
from app.web.auth import admission
from app.web.limits import connection_limits, rate_limits
from graders.judge.values import compare
from graders.pool import judge_pool, time_limit
from graders.reporting import assembly
from graders.sandbox import disk
from tests.house import test_budgets
from tools.mutants.__main__ import WANTED_SHARE

PAGES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    + [*(ROOT / "docs").rglob("*.md")]
)
TOPS = "app|graders|tests|tools|docs|benchmarks|exercises|migrations|templates|static|frontend|docker|\\.ci|\\.github"
BLOCK = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"(?<![\w./-])((?:{TOPS})/[\w./-]*)")
MODULE = re.compile(r"(?<![\w./-])([a-z_]+\.(?:py|js))(?![\w./-])")
NOT_OURS = ("exercises/my-course", "docs/exercises")
"""What whoever follows a page makes."""
EXAMPLES = {"my_answer.py", "more.py", "answer.py"}
OF_COMPOSE = {"KELOLO_VERSION", "KELOLO_NAME"}
"""Read by the compose file, and a placeholder."""


def told(page: Path) -> Iterator[str]:
    """Yield every piece of code of a page: a line of a block, or a span."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        yield from block.splitlines()
    yield from SPAN.findall(BLOCK.sub("", text))


def everywhere() -> list[tuple[str, str]]:
    """Return every piece of code of every page, with its page."""
    return [(str(page.relative_to(ROOT)), piece) for page in PAGES for piece in told(page)]


def test_every_path_is_there() -> None:
    """As written, from the top of the repository."""
    named = [(page, path.rstrip("./")) for page, piece in everywhere() for path in PATH.findall(piece)]
    assert len(named) > 80
    missing = [(page, path) for page, path in named if not (ROOT / path).exists() and not path.startswith(NOT_OURS)]
    assert missing == []


def test_every_module_that_is_named_alone_is_there() -> None:
    """In whatever folder the sentence speaks of."""
    modules = {path.name for top in TOPS.split("|") for path in (ROOT / top.strip("\\")).rglob("*.*")}
    named = [(page, name) for page, piece in everywhere() for name in MODULE.findall(piece)]
    assert len(named) > 20
    assert [(page, name) for page, name in named if name not in modules | EXAMPLES] == []


def test_every_link_leads_somewhere() -> None:
    """From the folder of its page."""
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in link and not link.startswith(("mailto:", "/"))
    ]
    assert len(links) > 5
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_target_of_make_is_there() -> None:
    """In the Makefile, where `make help` lists it too."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = [(page, target) for page, piece in everywhere() for target in re.findall(r"(?:^|\s)make ([a-z]\S*)", piece)]
    assert len(named) > 20
    assert [(page, target) for page, target in named if target not in targets] == []


def test_every_setting_is_there() -> None:
    """As a field, or as what the compose file reads; one that is cut short ends as a field does."""
    names = {f"KELOLO_{name.upper()}" for name in Settings.model_fields} | OF_COMPOSE
    text = [(page.name, page.read_text(encoding="utf-8")) for page in PAGES]
    named = [(page, name) for page, words in text for name in re.findall(r"\bKELOLO_[A-Z_]*[A-Z]\b", words)]
    assert len(named) > 50
    assert [(page, name) for page, name in named if name not in names] == []
    ends = [(page, end) for page, words in text for end in re.findall(r"`…(_[A-Z_]+)`", words)]
    assert [(page, end) for page, end in ends if not any(name.endswith(end) for name in names)] == []


def parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands below a command, by name."""
    subparsers = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    choices = [one.choices for one in subparsers]
    return {str(name): below for one in choices for name, below in one.items()}


def faults_of(command: str) -> str:
    """Say what a command line has that `kelolo` does not; empty if nothing."""
    words = command.partition("#")[0].split()
    parser = build_parser(words)
    while words and not words[0].startswith("-") and (below := parsers(parser)):
        if words[0] not in below:
            return f"no command {words[0]}" if words[0].islower() else ""
        parser = below[words.pop(0)]
    options = {name for action in parser._actions for name in action.option_strings}  # noqa: SLF001
    return ", ".join(one for one in words if one.startswith("--") and one.partition("=")[0] not in options)


def test_every_command_is_there() -> None:
    """With each option that is given to it."""
    given = [
        (page, line)
        for page, piece in everywhere()
        for line in re.findall(r"(?:^|[\s/])kelolo ([a-z-][^;&|>]*)", re.sub(r"[()\[\]…,]", " ", piece))
    ]
    assert len(given) > 30
    assert [(page, line, fault) for page, line in given if (fault := faults_of(line))] == []


def test_every_address_is_there() -> None:
    """Those of docs/access.md are tried by a test of its own; what other pages name is among them."""
    access = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    routes = {re.sub(r"\{[^}]*\}", "*", route) for route in re.findall(r"`[A-Z]+ (/\S*)`", access)}
    elsewhere = ("/tmp", "/data", "/dev", "/run", "/proc", "/sys")  # noqa: S108  no file is made
    named = [
        (page, piece)
        for page, piece in everywhere()
        if page != "docs/access.md" and re.fullmatch(r"/[a-z][\w/{}-]*", piece) and not piece.startswith(elsewhere)
    ]
    assert len(named) > 10
    assert [(page, piece) for page, piece in named if re.sub(r"\{[^}]*\}", "*", piece) not in routes] == []


def test_every_metric_is_there() -> None:
    """Whoever makes an alarm of one copies its name from the page."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py"))
    pages = {page: page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md"}  # old names too
    named = [(page.name, name) for page, words in pages.items() for name in re.findall(r"`(kelolo_\w+)", words)]
    assert len(named) > 10
    short = [(page, re.sub(r"_total$", "", name.removeprefix("kelolo_"))) for page, name in named]
    assert [(page, name) for page, name in short if name not in sources] == []


WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 10: "ten"}
NUMBERS = [
    ("docs/admins.md", "You make up to {} at a\ntime", codes.MOST_CODES),
    ("docs/admins.md", "whoever has a {} of their tutor messages left", {5: "fifth"}[near_limit.SHARE]),
    ("docs/security.md", "more than {:g} seconds of CPU over one", judge_pool.JUDGE_CPU_S),
    ("docs/security.md", "A stored report has at most {} KiB", assembly.MAX_REPORT_BYTES // 1024),
    ("docs/security.md", "a file system of its own of {} MiB", disk.MOST_BYTES // 1024**2),
    ("docs/security.md", "MiB and {:,} files", disk.MOST_FILES),
    ("docs/security.md", "take turns in a queue of {} for each", admission.IN_LINE_OF_A_NETWORK),
    ("docs/security.md", "\n  {:g} s for its headers", connection_limits.HEADERS_S),
    ("docs/security.md", "headers and {:g} s for its body", connection_limits.BODY_S),
    ("docs/security.md", "a network has {} connections that still send", connection_limits.SENDING_PER_NETWORK),
    ("docs/security.md", "and {} event streams", Settings.model_fields["streams_per_network"].default),
    ("docs/security.md", "an account {}. Repeated", Settings.model_fields["streams_per_account"].default),
    ("docs/security.md", "an IPv4 /{}", rate_limits.SHARING_BITS[4]),
    ("docs/security.md", "an IPv6 /{}", rate_limits.SHARING_BITS[6]),
    ("docs/security.md", "Guests together have a {} of the queue", {4: "quarter"}[queue.GUESTS_SHARE]),
    ("docs/security.md", "and {} places a network", WORDS[queue.GUESTS_OF_NETWORK]),
    ("docs/operations.md", "still only {} of them wait for a verdict", WORDS[queue.GUESTS_OF_NETWORK]),
    ("docs/operations.md", "other guests after {} days", housekeeping.IDLE_GUESTS_AFTER.days),
    ("docs/operations.md", "allowances after {} months", spent_quotas.KEPT_MONTHS),
    ("docs/authoring.md", "`tolerance` ({:g} if you say nothing)", compare.CLOSE),
    ("docs/authoring.md", "Waiting may take {:g} times as long", time_limit.WAITING_TIMES),
    ("docs/decisions/judges-are-kept.md", "{} submissions", judge_pool.SUBMISSIONS_BEFORE_NEW),
    ("docs/decisions/mutants.md", "The bound is {:.0%}", WANTED_SHARE),
    ("CONTRIBUTING.md", "At most {} lines a file", test_budgets.FILE_LINES),
    ("CONTRIBUTING.md", "lines a file, {} a function", test_budgets.FUNCTION_LINES),
]


@pytest.mark.parametrize(("page", "words", "number"), NUMBERS, ids=[f"{one[0]}: {one[1]}" for one in NUMBERS])
def test_number_is_the_one_of_the_code(page: str, words: str, number: object) -> None:
    """A limit that is changed is changed for its readers too."""
    wanted = words.format(number).replace("1e-05", "1e-5").replace("90%", "90 %")
    assert " ".join(wanted.split()) in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_plans_are_at_first_what_the_page_says(sqlite_database: Database) -> None:
    """For whoever sees a new installation."""
    with sqlite_database.read() as session:
        free, pro = (plans.plan_named(session, name) for name in ("free", "pro"))
    messages, checks = ([plan.limits[rule] for plan in (free, pro)] for rule in (Rule.TUTOR_MESSAGES, Rule.CHECKS))
    page = (ROOT / "docs" / "admins.md").read_text(encoding="utf-8")
    assert messages[0].period is Period.LIFETIME
    said = f"| {messages[0].amount}, ever | unlimited, up to {messages[1].fair_use_per_day} a day |"
    assert f"| tutor messages {said}" in page
    assert [one.period for one in checks] == [Period.MINUTE] * 2
    assert f"| checks and runs | {checks[0].amount} a minute | {checks[1].amount} a minute |" in page
