"""An exercise is opened once, and nothing that one submission's judge does is there for the next."""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from graders.faults import GraderFault
from graders.grader import Grader
from graders.pool import judge_pool
from graders.report import Report, Timing, Verdict
from graders.task import Check, Input, Output, Task, WrongVariant

RIGHT = "doubled = ids * 2\nweight = torch.nn.Parameter(torch.ones(2))\n"
WRONG = RIGHT.replace("* 2", "* 3")
TASK = Task(
    exercise="doubling",
    version=1,
    setup="import torch\nids = torch.arange(4)\nshare = torch.tensor([0.12345])\n",
    solution=RIGHT,
    outputs=(Output("doubled", dtype="whole"), Output("weight", "table")),
    inputs=(Input("ids"),),
    checks=(Check("doubled", "Doubled", "equal", of="doubled", given=((),), inputs=("ids",)),),
    report="print(ids, share)",
    fresh_trials=1,
)


def begun(grader: Grader, task: Task, *sources: str) -> int:
    """How many judges were started for these submissions, one after the other."""
    before = grader.judges_begun
    for source in sources:
        grader.grade(task, source, seed="1")
    return grader.judges_begun - before


def test_judge_of_one_submission_judges_the_next(grader: Grader) -> None:
    """A fork for each would cost as much as judging does; after right, wrong and failing code alike."""
    assert begun(grader, dataclasses.replace(TASK, exercise="kept"), RIGHT, WRONG, "doubled = 1 / 0", RIGHT) == 1


def test_other_exercise_has_another_judge(grader: Grader) -> None:
    """What one author's texts leave in a process, no other author's exercise finds; nor does the next version."""
    tasks = [dataclasses.replace(TASK, exercise="first"), dataclasses.replace(TASK, exercise="second")]
    tasks.append(dataclasses.replace(tasks[0], version=2))
    assert [begun(grader, task, RIGHT) for task in tasks] == [1, 1, 1]
    assert [begun(grader, task, RIGHT) for task in tasks] == [0, 0, 0]


def test_changed_draft_is_judged_by_its_new_texts(grader: Grader) -> None:
    """A draft keeps its number while it changes: what was right before is wrong now."""
    changed = dataclasses.replace(TASK, solution=WRONG)
    assert grader.grade(TASK, RIGHT, seed="1").verdict is Verdict.PASSED
    assert grader.grade(changed, RIGHT, seed="1").verdict is Verdict.FAILED
    assert grader.grade(changed, WRONG, seed="1").verdict is Verdict.PASSED


@pytest.mark.parametrize(
    "source",
    [
        RIGHT + "import os; os._exit(0)",
        RIGHT + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        RIGHT + "while True: pass",
        RIGHT + "import os; os.write(4, b'KLO1' + bytes(99)); os._exit(0)",
    ],
    ids=["left early", "crashed", "never ended", "handed over anything"],
)
def test_judge_is_not_kept_after_a_run_that_did_not_end_as_it_should(grader: Grader, source: str) -> None:
    """What comes from such a run is trusted least, so no later verdict is given by who has read it."""
    task = dataclasses.replace(TASK, exercise="suspicious", limits=dataclasses.replace(TASK.limits, wall_time_s=0.5))
    begun(grader, task, RIGHT)
    assert grader.grade(task, source, seed="1").verdict not in (Verdict.PASSED, Verdict.FAILED)
    assert begun(grader, task, RIGHT) == 1


def test_judge_is_replaced_after_its_share(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """However well it is, it does not live for ever."""
    monkeypatch.setattr(judge_pool, "SUBMISSIONS_BEFORE_NEW", 2)
    task = dataclasses.replace(TASK, exercise="short-lived")
    assert [begun(grader, task, RIGHT) for _ in range(4)] == [1, 0, 1, 0]


def test_judge_that_has_grown_is_replaced(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an author's texts keep costs forks, and never the machine's memory."""
    monkeypatch.setattr(judge_pool, "_GROWN_BYTES", -1)
    task = dataclasses.replace(TASK, exercise="growing")
    assert begun(grader, task, RIGHT, RIGHT, RIGHT) == 3


# What an author's text may do to the process that it runs in, to others' data, or to a module.
LASTING = {
    "a setting": "torch.set_default_dtype(torch.float64)",
    "a setting by another name": "t = torch\nt.set_printoptions(precision=1)",
    "a setting imported": "from torch import set_grad_enabled\nset_grad_enabled(False)",
    "a setting asked for by name": "getattr(torch, 'set_default_dtype')(torch.float64)",
    "a module's function": "torch.matmul = lambda a, b: a",
    "a class of torch's": "E = torch.nn.Embedding\nE.forward = lambda self, ids: ids",
    "what a module holds": "torch.__dict__['arange'] = None",
    "a hook on all modules": "torch.nn.modules.module.register_module_forward_hook(print)",
    "any attribute": "setattr(torch, 'arange', None)",
    "another module": "import warnings\nwarnings.simplefilter('error')",
    "the working folder": "import os\nos.chdir('/')",
    "a file": "open('seen.txt', 'w').write('x')",
    "a file of tensors": "torch.save(torch.ones(1), 'seen.pt')",
}


@pytest.mark.parametrize("text", LASTING.values(), ids=LASTING)
@pytest.mark.parametrize("place", ["setup", "solution", "report", "probe", "judge", "wrong"])
def test_what_a_text_does_to_its_process_the_next_submission_does_not_find(
    grader: Grader, place: str, text: str
) -> None:
    """Wherever the author does it, a second submission is judged as the first was."""
    careless = WrongVariant("careless", "Careless.", code=f"{RIGHT}{text}\n", failing=("doubled",))
    other: dict[str, Any] = {place: f"{getattr(TASK, place)}\n{text}\n"} if place != "wrong" else {"wrong": (careless,)}
    task = dataclasses.replace(TASK, exercise="lasting", **other)
    assert said(grader, task, WRONG) == said(grader, task, WRONG)


def said(grader: Grader, task: Task, source: str) -> object:
    """What comes of a submission, a fault of ours too."""
    try:
        return untimed(grader.grade(task, source, seed="1"))
    except GraderFault as fault:  # the exercise may be beyond use by that
        return str(fault)


# Where a report may put a student's numbers so that a later one could find them: each puts and tells what it finds.
CARRIES = {
    "an attribute of a class": "print(getattr(type(ids), 'seen', None)); ids.__class__.seen = weight.tolist()",
    "an alias": "E = torch.nn.Embedding\nprint(getattr(E, 'seen', None))\nF = E\nF.seen = weight.tolist()",
    "a loop variable": (
        "print(getattr(torch.nn.Linear, 'seen', None))\n"
        "for one in (torch.nn.Linear, torch.nn.Module): one.seen = weight.tolist()"
    ),
    "a function of torch's": (
        "print(getattr(torch.relu, '__name__', '').startswith('kept'))\n"
        "def kept_relu(x, values=weight.tolist()): return values\ntorch.relu = kept_relu"
    ),
    "a method": (
        "print(hasattr(torch.Tensor, 'kept'))\n(lambda cls: setattr(cls, 'kept', weight.tolist()))(type(ids))"
    ),
    "a default argument": (
        "import collections\nf = collections.namedtuple\nprint(f.__kwdefaults__.get('module'))\n"
        "f.__kwdefaults__['module'] = str(weight.tolist())"
    ),
    "a cache": (
        "import functools, re\nprint(re._cache.get('seen'))\nre._cache['seen'] = weight.tolist()\n"
        "re._compile.__dict__['seen'] = weight.tolist()"
    ),
    "a module of its own": (
        "import sys, types\nprint('seen' in sys.modules)\nsys.modules['seen'] = types.ModuleType('seen')"
    ),
    "the builtins": "import builtins\nprint(hasattr(builtins, 'seen'))\nbuiltins.seen = weight.tolist()",
    "the starting code's own tensor": "print(ids.sum()); ids.add_(int(weight[0]))",
    "the harness's frames": (
        "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n"
        "print(f.f_globals.get('seen')); f.f_globals['seen'] = weight.tolist()"
    ),
    "randomness": "print(torch.rand(1)); torch.manual_seed(int(weight[0] * 100))",
    "the environment": "import os\nprint(os.environ.get('SEEN')); os.environ['SEEN'] = str(weight.tolist())",
    "a file": "import os\nprint(os.listdir('.')); open('seen', 'w').write(str(weight.tolist()))",
    "a thread": (
        "import threading, time\nprint(threading.active_count())\n"
        "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"
    ),
}


@pytest.mark.parametrize("report", CARRIES.values(), ids=CARRIES)
def test_report_cannot_carry_one_students_numbers_to_the_next(grader: Grader, report: str) -> None:
    """Each submission's report says what the first one's did, though judges are forked ahead in between."""
    task = dataclasses.replace(TASK, exercise="carrying", report=report)
    others = RIGHT.replace("torch.ones(2)", "torch.full((2,), 7.77)")
    told = []
    for source in (others, RIGHT, others):
        told.append(grader.grade(task, source, seed="1").report)
        grader.prepare(task.limits)
    assert told[0]
    assert "7.77" not in told[1]
    assert told[0] == told[1] == told[2]


# What changes only things of the exercise's own, which are made anew for each submission.
CHANGES_ITS_OWN = {
    "the lesson's tensors, in the report": {"report": "ids += 1\nprint(ids)"},
    "a list, in the report": {"setup": TASK.setup + "words = ['b', 'a']\n", "report": "print(words); words.sort()"},
    "a gradient": {
        "setup": TASK.setup + "own = torch.ones(2, requires_grad=True)\n",
        "report": "(own * 3).sum().backward(); print(own.grad)",
    },
    "a generator of its own": {
        "setup": TASK.setup + "import random\ndice = random.Random(0)\n",
        "report": "print(dice.random(), torch.rand(1))",
    },
    "a module, by the student's numbers": {
        "setup": TASK.setup + "linear = torch.nn.Linear(2, 1)\n",
        "solution": RIGHT + "linear.weight.data.copy_(weight[None])\n",
        "report": "print(linear.weight)",
        "checks": (*TASK.checks, Check("w", "W", "equal", of="weight", given=(("weight",),))),
    },
}  # fmt: skip


@pytest.mark.parametrize("own", CHANGES_ITS_OWN.values(), ids=CHANGES_ITS_OWN)
def test_kept_judge_says_what_a_new_one_would(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]
) -> None:
    """What authors do to what is theirs, and what students hand over, never shows in a later report."""
    task = dataclasses.replace(TASK, exercise="own", **own)
    others = RIGHT.replace("torch.ones(2)", "torch.full((2,), 7.77)")
    sources = (RIGHT, others, WRONG, RIGHT, "pass", others, RIGHT)
    kept = [untimed(grader.grade(task, source, seed="1")) for source in sources]
    assert begun(grader, task, RIGHT) == 0
    monkeypatch.setattr(judge_pool, "SUBMISSIONS_BEFORE_NEW", 1)
    begun(grader, task, RIGHT)
    new = [untimed(grader.grade(task, source, seed="1")) for source in sources]
    assert begun(grader, task, RIGHT) == 1
    assert kept == new


def test_student_cannot_read_what_a_judge_has_written(grader: Grader) -> None:
    """Judge and student of a slot are one user to the kernel, and both are there at once."""
    writes = "import os\nopen('answer.txt', 'w').write('secret')\nprint(os.path.abspath('answer.txt'))"
    task = dataclasses.replace(TASK, exercise="writing", report=writes)
    written = Path(grader.grade(task, RIGHT, seed="1").report.strip())
    assert written.name == "answer.txt"
    look = "import os\nfor one in ('..', '../..', '/tmp'):\n    try: print(os.listdir(one))\n    except OSError: pass\n"
    assert grader.grade(task, look, seed="1").output == ""


def test_warm_processes_hold_no_more_descriptors_after_many_runs(grader: Grader) -> None:
    """A fork that leaves one behind in its parent would end all grading after some hundreds."""
    begun(grader, TASK, RIGHT)
    before = descriptors()
    begun(grader, TASK, *(RIGHT, "import os; os._exit(0)") * 3)
    after = descriptors()
    assert len(before.keys() & after.keys()) > 1
    assert {pid: after[pid] for pid in before if pid in after} == {pid: before[pid] for pid in before if pid in after}


def descriptors() -> dict[str, int]:
    """How many each warm process of this test process, and each judge that is kept, has open."""
    found = {}
    of = parents()
    for path in Path("/proc").iterdir():
        try:
            command = (path / "cmdline").read_bytes()
            is_warm = b"graders/zygote/__main__.py" in command and b"bwrap" not in command.split(b"\0")[0]
            if is_warm and descends(path.name, str(os.getpid()), of):
                found[path.name] = len(list((path / "fd").iterdir()))
        except OSError:
            continue
    return found


def parents() -> dict[str, str]:
    """Whose child each process of the machine is."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[path.name] = (path / "stat").read_text().rpartition(")")[2].split()[1]
    return found


def descends(pid: str, ancestor: str, parents: dict[str, str]) -> bool:
    """Has a process been started by another, or by one that that one has started?"""
    while pid in parents and pid != ancestor:
        pid = parents[pid]
    return pid == ancestor


def test_exercise_whose_solution_fails_is_our_fault_each_time(grader: Grader) -> None:
    """A judge that has found its own exercise wanting is not asked again, and the student is told nothing wrong."""
    broken = dataclasses.replace(TASK, exercise="broken", solution="doubled = 1 / 0")
    for _ in range(2):
        with pytest.raises(GraderFault, match="ZeroDivisionError"):
            grader.grade(broken, RIGHT, seed="1")


def untimed(report: Report) -> Report:
    """Without what no two runs have in common."""
    return dataclasses.replace(report, timing_ms=Timing())
