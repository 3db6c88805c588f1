"""A judge is kept from one submission to the next, and no verdict shows it."""

import dataclasses

import pytest

from graders import judges
from graders.faults import GraderFault
from graders.grader import Grader
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
    report="import os\nprint(os.getpid())",  # says which process judges
    fresh_trials=1,
)
# What an author's text may do to the process that it runs in, and to the lesson's own data.
CARELESS = """
import os, warnings
doubled = ids + ids
ids += 1
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_printoptions(precision=1)
warnings.simplefilter("error")
os.chdir("/")
"""
SHOWS_ALL = """
import os, warnings
print(ids, share, share.dtype, torch.is_grad_enabled(), torch.tensor(0.5).dtype, os.getcwd() == "/", warnings.filters)
"""


def judged_by(grader: Grader, task: Task, source: str = RIGHT) -> str:
    """The process that has judged a submission."""
    return grader.grade(task, source, seed="1").report


def test_judge_of_one_submission_judges_the_next(grader: Grader) -> None:
    """A fork for each would cost as much as judging does; after right, wrong and failing code alike."""
    task = dataclasses.replace(TASK, exercise="kept")
    first = judged_by(grader, task)
    assert first.strip().isdigit()
    assert {judged_by(grader, task, source) for source in (WRONG, "doubled = 1 / 0", RIGHT)} == {first}


def test_other_exercise_has_another_judge(grader: Grader) -> None:
    """What one author's texts leave in a process, no other author's exercise finds; nor does the next version."""
    tasks = [TASK, dataclasses.replace(TASK, exercise="tripling"), dataclasses.replace(TASK, version=2)]
    assert len({judged_by(grader, task) for task in tasks}) == len(tasks)


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
    before = judged_by(grader, task)
    assert grader.grade(task, source, seed="1").verdict not in (Verdict.PASSED, Verdict.FAILED)
    assert judged_by(grader, task) != before


def test_judge_is_replaced_after_its_share(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """However well it is, it does not live for ever."""
    monkeypatch.setattr(judges, "SUBMISSIONS_BEFORE_NEW", 2)
    task = dataclasses.replace(TASK, exercise="short-lived")
    seen = [judged_by(grader, task) for _ in range(4)]
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_judge_that_has_grown_is_replaced(grader: Grader) -> None:
    """An author's text that keeps what it makes costs forks, and never the machine's memory."""
    hoarding = TASK.setup + "torch.kept = [*getattr(torch, 'kept', ()), torch.ones(80 * 2**20, dtype=torch.uint8)]\n"
    task = dataclasses.replace(TASK, exercise="hoarding", setup=hoarding, fresh_trials=0)
    seen = [judged_by(grader, task, WRONG) for _ in range(6)]  # 80 MiB more each
    assert len(set(seen)) == 2


def test_what_a_wrong_variant_does_to_the_judge_changes_no_later_verdict(grader: Grader) -> None:
    """Numbers, gradients, printing, warnings, folder and the lesson's own data are as for the first submission."""
    careless = WrongVariant("careless", "Careless.", code=CARELESS, failing=("doubled",))
    task = dataclasses.replace(TASK, exercise="careless", wrong=(careless,), report=SHOWS_ALL)
    reports = [grader.grade(task, source, seed="1") for source in (RIGHT, WRONG, RIGHT, WRONG, RIGHT)]
    assert [one.verdict for one in reports[::2]] == [Verdict.PASSED] * 3
    assert {dataclasses.replace(one, timing_ms=Timing()) for one in reports[::2]} == {_untimed(reports[0])}
    assert _untimed(reports[1]) == _untimed(reports[3])


def test_student_cannot_read_what_a_kept_judge_has_written(grader: Grader) -> None:
    """Judge and student of a slot are one user to the kernel, and both are there at once."""
    writes = (
        "import os\nwith open('answer.txt', 'w') as file: file.write('secret')\nprint(os.path.abspath('answer.txt'))"
    )
    task = dataclasses.replace(TASK, exercise="writing", report=writes)
    written = grader.grade(task, RIGHT, seed="1").report.strip()
    assert written.endswith("answer.txt")
    assert "PermissionError" in str(grader.grade(task, f"print(open({written!r}).read())", seed="1").error)
    assert judged_by(grader, task).strip() == written  # it was there all the time


def test_exercise_whose_solution_fails_is_our_fault_each_time(grader: Grader) -> None:
    """A judge that has found its own exercise wanting is not asked again, and the student is told nothing wrong."""
    broken = dataclasses.replace(TASK, exercise="broken", solution="doubled = 1 / 0")
    for _ in range(2):
        with pytest.raises(GraderFault, match="ZeroDivisionError"):
            grader.grade(broken, RIGHT, seed="1")


def _untimed(report: Report) -> Report:
    return dataclasses.replace(report, timing_ms=Timing())
