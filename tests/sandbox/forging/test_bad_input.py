"""Whatever is submitted gets one clear verdict, and the next submission is graded as if nothing had happened."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from graders.report import Report, Verdict


class Bad(NamedTuple):
    """Something a student may submit."""

    name: str
    source: str
    verdict: Verdict
    words: str  # what the student is told contains this


CASES = [
    Bad("nothing at all", "", Verdict.FAILED, "There is no `token_emb`"),
    Bad("a missing bracket", "x = (1\n", Verdict.ERROR, "never closed"),
    Bad("a NUL that got through", "x = 1\0\n", Verdict.ERROR, ""),
    Bad("an endless loop", "while True:\n    pass\n", Verdict.TIME_LIMIT, "loop"),
    Bad("sleep without end", "import time\ntime.sleep(1e9)\n", Verdict.TIME_LIMIT, "loop"),
    Bad("a C loop that holds the GIL", "10 ** 10 ** 8\n", Verdict.TIME_LIMIT, "loop"),
    Bad("10 GB in one tensor", "big = torch.ones(10 * 2**30 // 4)\n", Verdict.MEMORY_LIMIT, "512 MiB"),
    Bad("10 GB in one list", "big = [0] * (10 * 2**30 // 8)\n", Verdict.MEMORY_LIMIT, "512 MiB"),
    Bad("10 GB bit by bit", "all = []\nwhile True:\n    all.append(torch.ones(2**20))\n", Verdict.MEMORY_LIMIT, "MiB"),
    Bad("1 GB of printing", "for _ in range(2**20):\n    print('x' * 1023)\n", Verdict.OUTPUT_LIMIT, "printed"),
    Bad("a NULL read", "import ctypes\nctypes.string_at(0)\n", Verdict.CRASHED, "SIGSEGV"),
    Bad("exit behind the harness", "import os\nos._exit(0)\n", Verdict.CRASHED, "exit"),
    Bad("recursion without end", "def f():\n    f()\nf()\n", Verdict.ERROR, "calls itself"),
    Bad("nesting too deep to parse", "x = " + "(" * 500 + ")" * 500, Verdict.ERROR, ""),
    Bad("input()", "name = input()\n", Verdict.ERROR, "input()"),
    Bad(
        "an exception that cannot be printed",
        "class E(Exception):\n def __str__(self): 1/0\nraise E\n",
        Verdict.ERROR,
        "",
    ),
]


@pytest.mark.parametrize("bad", CASES, ids=[case.name for case in CASES])
def test_bad_input_gets_a_clear_verdict(
    grade: Callable[..., Report], grade_hastily: Callable[[str], Report], solution: str, bad: Bad
) -> None:
    """The verdict is the right word, the student is told why, and right code passes right afterwards."""
    report = (grade_hastily if bad.verdict is Verdict.TIME_LIMIT else grade)(bad.source)
    assert report.verdict is bad.verdict
    told = [report.note, *(check.message for check in report.checks)]
    told += [report.error.explanation] if report.error else []
    assert bad.words in " ".join(told)
    assert len(report.to_json()["output"]) <= 64 * 1024
    assert grade(solution).verdict is Verdict.PASSED


def test_what_came_before_a_time_limit_is_shown(grade_hastily: Callable[[str], Report]) -> None:
    """What was printed before an endless loop is not lost."""
    report = grade_hastily("print('here I am')\nwhile True: pass\n")
    assert report.verdict is Verdict.TIME_LIMIT
    assert report.output == "here I am\n"


def test_the_lessons_checks_survive_a_loop_on_other_data(grade_hastily: Callable[[str], Report], solution: str) -> None:
    """Code that is right on the lesson's data and loops for ever on others keeps what was found before."""
    report = grade_hastily(f"{solution}\nwhile block_size != 8: pass\n")
    assert report.verdict is Verdict.TIME_LIMIT
    found = {check.id: check.status.value for check in report.checks}
    assert found["h"] == "passed"
    assert found["other-sizes"] == "failed"


def test_code_that_only_knows_the_lesson_fails_with_the_sizes_that_show_it(grade: Callable[..., Report]) -> None:
    """Numbers typed in pass on the lesson's data and are found out on others, with those sizes named."""
    report = grade(
        "token_emb = nn.Embedding(19, 32)\npos_emb = nn.Embedding(8, 32)\n"
        "tok = token_emb(x)\npos = pos_emb(torch.arange(8))\nh = tok + pos\n"
    )
    assert report.verdict is Verdict.FAILED
    assert any("block_size =" in check.message for check in report.checks)


def test_warnings_and_output_of_other_data_are_not_shown(grade: Callable[..., Report], solution: str) -> None:
    """What is printed on fresh data stays unseen: it would give the data away."""
    report = grade(f"{solution}\nprint('block', block_size)\n")
    assert report.verdict is Verdict.PASSED
    assert report.output == "block 8\n"


@pytest.mark.parametrize("mark", ["\ufeff", "\r\n", "\r"], ids=["byte-order mark", "CRLF", "CR"])
def test_files_of_any_editor_are_read(grade: Callable[..., Report], solution: str, mark: str) -> None:
    """A byte-order mark or other line ends change nothing."""
    source = mark + solution if mark == "\ufeff" else solution.replace("\n", mark)
    assert grade(source).verdict is Verdict.PASSED


def test_calling_backward_first_is_not_held_against_anyone(grade: Callable[..., Report], solution: str) -> None:
    """A student who tried `backward()` has used the graph up; the gradients are still judged."""
    assert grade(f"{solution}\nh.sum().backward()\n").verdict is Verdict.PASSED
