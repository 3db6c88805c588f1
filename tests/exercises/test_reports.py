"""What public bug reports and forum posts have shown of a student's process: each has its right outcome."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Check, Limits, Output, Task
from graders.trials import new_seed
from tools.exercises import task_of
from tools.labelled_cases import CASES

REPORTS = CASES / "reports"
Grade = Callable[..., Report]
GradeFile = Callable[[str], Report]
SOLUTION = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""
AS_A_PROGRAM = {
    "scripted classes": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = nn.Linear(2, 2)\n"
        "    def forward(self, value: torch.Tensor) -> torch.Tensor:\n        return self.inner(value)\n"
        "torch.jit.script(M())(torch.ones(1, 2))\n"
    ),
    "the source of a class": "import inspect\nclass A:\n    b = 1\nassert 'b = 1' in inspect.getsource(A)\n",
    "names in annotations": (
        "import typing\nclass B: pass\ndef f(b: 'B'): ...\nassert typing.get_type_hints(f) == {'b': B}\n"
    ),
    "its own name and arguments": "import __main__, sys\nassert __main__.__dict__ is globals()\n"
    "assert sys.argv == [__file__] == ['main.py']\n",
    "a test case": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n"
        "unittest.main(exit=False)\n"
    ),
    "a stream that is detached": "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\nprint('said')\n",
    "a stream that is closed": "import sys\nsys.stdout.close()\n",
    "no stream at all": "import sys\nsys.stdout = sys.stderr = None\nprint('said')\n",
}
LEFT_BEHIND = {
    "the environment": "import os\nassert 'K' not in os.environ\nos.environ['K'] = '1'\n",
    "the search path": "import sys\nassert 'lib' not in sys.path\nsys.path.append('lib')\n",
    "a module": "import sys, types\nassert 'own' not in sys.modules\nsys.modules['own'] = types.ModuleType('own')\n",
    "an attribute of torch": "assert not hasattr(torch, 'own')\ntorch.own = 1\n",
    "a patched function": "old = nn.functional.embedding\nassert old.__name__ == 'embedding'\n"
    "def patched(*given): return old(*given)\nnn.functional.embedding = patched\n",
    "a signal's handler": "import signal\nassert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    "signal.signal(signal.SIGTERM, print)\n",
    "the recursion limit": "import sys\nassert sys.getrecursionlimit() == 1000\nsys.setrecursionlimit(5000)\n",
    "a logger's handler": "import logging\nlogger = logging.getLogger('own')\nassert not logger.handlers\n"
    "logger.addHandler(logging.StreamHandler())\n",
    "memory": "torch.kept = [*getattr(torch, 'kept', []), torch.ones(60_000_000)]\n",
}
EXITS = ["exit()", "quit()", "import sys; sys.exit(1)", "raise SystemExit('done')"]
PROBED = Task(
    exercise="probed",
    version=1,
    setup="import torch\nsize = 3\ndata = torch.arange(size) + 1.0\ndef draw(): return 7\n",
    solution="weight = torch.ones(size, requires_grad=True)\ndef out(value): return (value * weight).sum()\n",
    params={"size": {"kind": "integer", "low": 4, "high": 9, "lesson": 3}},
    outputs=(
        Output("weight", "table"), Output("first", "value"), Output("slope"), Output("last", "value"),
    ),
    checks=(
        Check("first", "", "equal", of="first", given=((),)),
        Check("slope", "", "equal", of="slope", given=((),)),
        Check("last", "", "equal", of="last", given=((),)),
    ),
    probe=(
        "def shift(): return draw() + sum([1, 2])\n"
        "first = round(float(out(data)) + shift(), 3)\n"
        "slope = torch.autograd.grad(out(data), weight)[0]\n"
        "last = round(float(out(data * 2)), 3)\n"
    ),
    limits=Limits(wall_time_s=2.0),
)  # fmt: skip
ANSWER = PROBED.solution


@pytest.fixture
def grade_file(grader: Grader) -> GradeFile:
    """Give a function that grades a file of the reports against the exercise that it names."""

    def graded(name: str) -> Report:
        source = (REPORTS / name).read_text(encoding="utf-8")
        return grader.grade(task_of(source.split("exercise: ")[1].split()[0]), source, seed=new_seed())

    return graded


@pytest.fixture
def grade_probed(grader: Grader) -> Callable[[str], Report]:
    """Give a function that grades an answer to an exercise whose probe uses what it defines."""

    def graded(source: str) -> Report:
        return grader.grade(PROBED, source, seed=new_seed())

    return graded


def states(report: Report) -> dict[str, str]:
    """Return what became of each check."""
    return {one.id: one.status.value for one in report.checks}


def said(report: Report) -> list[str]:
    """Return what the checks say."""
    return [f"{one.id}: {one.message}" for one in report.checks if one.message]


@pytest.mark.parametrize("name", sorted(one.name for one in REPORTS.glob("0[2678]_*.py")))
def test_program_that_is_right_as_a_file_passes(grade_file: GradeFile, name: str) -> None:
    """What `python main.py` would run without complaint passes here, on every trial."""
    report = grade_file(name)
    assert report.verdict is Verdict.PASSED, said(report)


@pytest.mark.parametrize("name", AS_A_PROGRAM)
def test_answer_is_a_program_of_its_own(grade: Grade, name: str) -> None:
    """What looks for `__main__`, its source, its arguments or its streams finds the student's."""
    report = grade(AS_A_PROGRAM[name] + SOLUTION)
    assert report.verdict is Verdict.PASSED, (said(report), report.error)


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_trial_does_not_find_what_the_one_before_has_left(grade: Grade, name: str) -> None:
    """Right code that changes its process is right with every data."""
    report = grade(LEFT_BEHIND[name] + SOLUTION)
    assert report.verdict is Verdict.PASSED, (said(report), report.error)


def test_sizes_typed_in_are_still_found(grade: Grade) -> None:
    """A trial that fails in a process of its own as well has failed."""
    report = grade(SOLUTION.replace("arange(block_size)", "arange(8)"))
    assert report.verdict is Verdict.FAILED
    assert states(report)["pos"] == "failed"


def test_doctest_prints_its_result(grade_file: GradeFile) -> None:
    """It finds the student's functions, and what it prints arrives."""
    assert "failed=1, attempted=1" in grade_file("02_main_doctest.py").output


def test_no_path_of_the_server_is_printed(grade: Grade) -> None:
    """A traceback through torch and through us names files from the folder on that a student can know."""
    code = "import sys, traceback\ntry: nn.Linear(2, 2)(torch.ones(3))\nexcept Exception: traceback.print_exc()\n"
    report = grade(f"{code}traceback.print_stack()\nprint(sys.path, sys.argv)\n{SOLUTION}")
    assert 'File "main.py", line 2' in report.output
    assert "site-packages/torch/nn" in report.output
    assert str(Path(__file__).parents[2]) not in report.output


@pytest.mark.parametrize("leaving", EXITS)
def test_early_exit_is_told_with_its_line(grade: Grade, leaving: str) -> None:
    """The first thing that is missing says which line ended the code; nothing is guessed about what one thinks."""
    first, *rest = SOLUTION.strip().splitlines()
    report = grade("\n".join([first, leaving, *rest]))
    assert report.verdict is Verdict.FAILED
    assert report.misconception is None
    told = {one.id: one.message for one in report.checks}
    assert told["position-table"].startswith("Line 2 (`")
    assert states(report)["pos"] == "not_run"


def test_exit_behind_the_harness_is_told_with_its_line(grade: Grade) -> None:
    """`os._exit` ends all of the process; its words are not lost, and its line is said."""
    report = grade("import os\ndef leave():\n    os._exit(3)\nprint('bye', end='')\nleave()\n")
    assert (report.verdict, report.output) == (Verdict.CRASHED, "bye")
    assert "exit at once by line 3" in report.note


def test_reported_early_exit_is_told_with_its_line(grade_file: GradeFile) -> None:
    """What was made before it has passed."""
    report = grade_file("04_exit_early.py")
    found = states(report)
    assert (found["token-table"], found["position-table"], found["h"]) == ("passed", "failed", "not_run")
    assert "Line 5 (`exit()`)" in " ".join(said(report))
    assert report.misconception is None


def test_words_before_a_crash_are_not_lost(grade: Grade) -> None:
    """What was printed arrives, though nothing was flushed, and in the order in which it was printed."""
    code = "import ctypes, sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three', end='')\n"
    report = grade(f"{code}ctypes.string_at(0)\n")
    assert (report.verdict, report.output) == (Verdict.CRASHED, "one\ntwo\nthree")


def test_burst_of_words_before_a_loop_is_not_lost(grade: Grade) -> None:
    """A burst is kept back for a moment only."""
    report = grade("for step in range(2000): print(step)\nwhile True: pass\n")
    assert (report.verdict, report.output.split()[-1]) == (Verdict.TIME_LIMIT, "1999")


def test_progress_bar_and_cut_text_are_clean(grade: Grade) -> None:
    """A carriage return goes back to the beginning of the line, and a cut leaves whole characters."""
    bar = "for step in range(101): print(f'\\r{step:3d} %', end='')\nprint()\n"
    report = grade(f"{bar}print('x' + '█' * 50_000)\n{SOLUTION}")
    assert report.verdict is Verdict.PASSED
    assert report.output_truncated
    assert report.output.startswith("100 %\nx█")
    assert "�" not in report.output


def test_typo_at_the_end_leaves_the_values_right(grade_file: GradeFile) -> None:
    """All that was made is judged, what the author's probe makes of it too."""
    report = grade_file("40_bias_is_needed.py")
    assert report.verdict is Verdict.ERROR
    found = states(report)
    assert found.pop("other-sizes") == "not_run"
    assert set(found.values()) == {"passed"}


@pytest.mark.parametrize("name", ["40_error_after_backward.py", "40_vectors_grad.py"])
def test_error_after_backward_leaves_the_gradient_there(grade_file: GradeFile, name: str) -> None:
    """The gradient has arrived at the table, whatever goes wrong in the line after it."""
    report = grade_file(name)
    assert report.verdict is Verdict.ERROR
    found = states(report)
    assert [found[one] for one in ("prediction", "table", "vectors", "backward")] == ["passed"] * 4
    assert "`learned`" in " ".join(said(report))


def test_forgotten_self_is_told(grade_file: GradeFile) -> None:
    """A variable of the author's probe does not stand in for what the class has forgotten."""
    report = grade_file("60_forgotten_self.py")
    assert report.verdict is Verdict.ERROR
    assert states(report)["forward"] == "failed"
    assert report.error is not None
    assert "`self.table`" in report.error.explanation


def test_table_that_is_no_parameter_is_told(grade_file: GradeFile) -> None:
    """The check says what is wrong, not what the probe has stumbled over."""
    report = grade_file("37_list_of_parameters.py")
    assert report.verdict is Verdict.FAILED
    assert "`parameters()`" in next(one.message for one in report.checks if one.id == "table")


RIGHT_FOR_THE_PROBE = {
    "as the author has it": ANSWER,
    "a helper called draw": f"def draw(): return -100\n{ANSWER}",
    "a helper called shift": f"def shift(): return -100\n{ANSWER}",
    "a variable called sum": f"sum = 0\n{ANSWER}",
    "a graph that was walked": f"{ANSWER}out(data).backward()\n",
    "one graph that was walked": (
        "weight = torch.ones(size, requires_grad=True)\nonce = (weight * 1)\n"
        "def out(value): return (value * once).sum()\nout(data).backward()\n"
    ),
}


@pytest.mark.parametrize("name", RIGHT_FOR_THE_PROBE)
def test_right_answer_passes_the_probe(grade_probed: Callable[[str], Report], name: str) -> None:
    """Names of the student's do not stand in the way of the author's, nor does a graph that is gone."""
    report = grade_probed(RIGHT_FOR_THE_PROBE[name])
    assert report.verdict is Verdict.PASSED, said(report)


@pytest.mark.parametrize("forged", ["first", "slope", "last"])
def test_function_cannot_reach_the_probe(grade_probed: Callable[[str], Report], forged: str) -> None:
    """What a function puts among its globals is not taken for what the probe has made."""
    code = "weight = torch.ones(size, requires_grad=True)\nfirst, slope, last = 16, torch.arange(size) + 1.0, 12\n"
    code += f"def out(value):\n    globals()['{forged}'] = 1\n    raise ValueError('no')\n"
    report = grade_probed(code)
    assert set(states(report).values()) == {"failed"}
    assert report.verdict is Verdict.ERROR


@pytest.mark.parametrize("hanging", ["while True: pass", "__import__('time').sleep(1e6)"])
def test_line_of_the_probe_that_never_ends_hides_no_other(grade_probed: Callable[[str], Report], hanging: str) -> None:
    """The lines before it and after it are judged."""
    code = f"{ANSWER}\nright = out\ndef out(value):\n"
    code += f"    if torch.is_grad_enabled() and value[0] == 2:\n        {hanging}\n"
    report = grade_probed(f"{code}    return right(value)\n")
    assert states(report) == {"first": "passed", "slope": "passed", "last": "failed"}
    assert "did not come to its end (line " in said(report)[0]


def test_authors_own_stumbling_is_not_shown(grade_probed: Callable[[str], Report]) -> None:
    """Where a line of the probe raises on what was made, the student reads no exception of ours."""
    report = grade_probed("weight = 3\ndef out(value): return 'text'\n")
    assert report.verdict is Verdict.FAILED
    assert not [one for one in said(report) if "Error" in one or "shift" in one]


def test_half_a_class_is_not_blamed_for_what_comes_later(grade_probed: Callable[[str], Report]) -> None:
    """After an exception, what the probe could not make has not been tried."""
    report = grade_probed("weight = torch.ones(size, requires_grad=True)\nprnt(weight)\ndef out(value): return 1\n")
    assert report.verdict is Verdict.ERROR
    assert not [one for one in said(report) if "first" in one.partition(": ")[2] or "shift" in one]
    assert "Your code stopped" in said(report)[0]


def test_work_of_more_than_a_third_of_the_limit_passes(grade: Grade) -> None:
    """The limit is each trial's own."""
    code = "import time\nend = time.process_time() + 1.5\nwhile time.process_time() < end: pass\n"
    report = grade(code + SOLUTION)
    assert report.verdict is Verdict.PASSED, report.note


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("while True: pass", "of computing and was ended. Is there"),
        ("import time; time.sleep(1e6)", "was waiting, without computing"),
        ("while block_size != 8: pass", "It came to its end with the lesson's own data"),
    ],
)
def test_time_limit_says_what_the_time_was_used_for(grader: Grader, task: Task, code: str, words: str) -> None:
    """Computing, waiting, and on which data."""
    short = dataclasses.replace(task, exercise="short", limits=dataclasses.replace(task.limits, wall_time_s=0.5))
    report = grader.grade(short, f"{SOLUTION}{code}\n", seed=new_seed())
    assert report.verdict is Verdict.TIME_LIMIT
    assert words in report.note
