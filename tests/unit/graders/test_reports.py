"""Values that are stored and sent come back as they were."""

import json

from graders.report import (
    CheckResult,
    CheckStatus,
    Misconception,
    Report,
    StudentError,
    TensorShape,
    Timing,
    Verdict,
)
from graders.task import Task

REPORT = Report(
    exercise="tables",
    version=3,
    verdict=Verdict.ERROR,
    checks=(CheckResult("tok", "`tok` is right", CheckStatus.FAILED, "It is not."),),
    misconception=Misconception("swapped", "Rows and columns are swapped."),
    error=StudentError("IndexError", "index out of range", 3, "An id is too large."),
    report="token table: [19, 32]\n",
    output="héllo\n",
    output_truncated=False,
    tensors=(TensorShape("h", ("batch", "channel"), (2, 3), (2, 4), "float32"),),
    timing_ms=Timing(run=14.0, judge=9.0, total=23.0),
    seed="abc",
)


def test_a_report_comes_back_from_json_as_it_was() -> None:
    """Writing and reading a report, through real JSON, changes nothing."""
    assert Report.from_json(json.loads(json.dumps(REPORT.to_json()))) == REPORT


def test_a_task_comes_back_from_json_as_it_was(task: Task) -> None:
    """Writing and reading a task, through real JSON, changes nothing."""
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


def test_time_in_the_queue_is_part_of_the_total() -> None:
    """The wait for a worker is told and counted."""
    waited = REPORT.queued_for(7.0)
    assert (waited.timing_ms.queued, waited.timing_ms.total) == (7.0, 30.0)


def test_the_students_part_of_a_task_holds_no_answer(task: Task) -> None:
    """Neither solution, nor checks, nor variants, nor messages go to the student's process."""
    part = json.dumps(task.student_part().to_json())
    assert task.solution not in part
    assert "given" not in part
    assert not any(one.message in part or one.code in part for one in task.wrong)
