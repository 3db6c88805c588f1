"""The first part of the gate: an exercise's own code on the data that it draws, before anything is graded."""

from app.authoring.self_test.findings import Tested
from graders.faults import GraderFault
from graders.grader import Grader
from graders.survey import Survey
from graders.task import Task

LEAST_SHARE = 0.02
"""Of the draws that `require` lets through: below, drawing costs every student time."""


def surveyed(task: Task, grader: Grader, result: Tested) -> bool:
    """
    Note what is wrong with an exercise's data.

    Returns:
        Is there any use in grading with them?
    """
    try:
        found = grader.survey(task)
    except GraderFault as refused:
        result.find("the exercise", f"cannot be used: {refused}")
        return False
    result.accepted_share = found.share
    for fault in found.faults:
        result.find("the exercise", f"cannot be used: {fault}")
    if found.faults:
        return False
    _look_at_draws(found, result)
    _look_at_inputs(found, result)
    for fault in found.judge_faults:
        result.find("`judge`", f"{fault}; that is with the solution's own values")
    for fault in found.report_faults:
        result.find("`report`", f"{fault}; that is with the solution's own values")
    return True


def _look_at_draws(found: Survey, result: Tested) -> None:
    if found.share < LEAST_SHARE:
        result.find(
            "`require`",
            f"lets {found.accepted} of {found.drawn} draws through ({found.share:.1%}), which makes every trial slow; "
            "choose ranges for the parameters that fit it better",
        )
    for one, other, size in found.equal_sizes:
        result.find(
            f"the parameters `{one}` and `{other}`",
            f"are sizes, and can be equal (both {size}), so that code which takes one for the other is right; "
            f"let them be drawn by `integer`, which keeps them apart, or add to `require: {one} != {other}`",
        )


def _look_at_inputs(found: Survey, result: Tested) -> None:
    for name in found.unseeded:
        result.find(
            f"the input `{name}`",
            "is another one each time the starting code is run, so that no two runs agree on it; "
            "seed what it is drawn from, for example by `torch.manual_seed(0)`",
        )
    for name in found.unvaried:
        result.find(
            f"the input `{name}`",
            "is the lesson's own in every fresh trial, so that code with its numbers typed in is right; "
            "draw it from a seed, or let a parameter change it",
        )
