"""Whatever a student's process hands over of its own run is judged, or the student's crash: never a fault of ours."""

import dataclasses
import json
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from graders.faults import GraderFault
from graders.grader import Grader
from graders.report import Report, Verdict
from graders.reporting.assembly import MAX_REPORT_BYTES
from graders.task import Check, Input, Output, Task
from tools.forged_observations import LEAF, Edit, forgeries, forging, task
from tools.forgery_outcomes import MOST_S, Seen

EXAMPLES = 500
SUBMISSIONS = 88
SOLUTION = "weight = torch.nn.Parameter(torch.arange(1.0, 5.0))\ndoubled = weight * ids\nanswer = 12\n"
TASK = Task(
    exercise="forged",
    version=1,
    setup="import torch\nids = torch.arange(4)\n",
    solution=SOLUTION,
    outputs=(Output("weight", "table"), Output("doubled"), Output("answer", "value")),
    inputs=(Input("ids"),),
    checks=(
        Check("weight", "Weight", "table", of="weight"),
        Check("doubled", "Doubled", "equal", of="doubled", given=(("weight",),), inputs=("ids",), learns=("weight",)),
        Check("answer", "Answer", "equal", of="answer", given=((),)),
        Check("count", "Count", "learnable_count", names=("weight",)),
    ),
    fresh_trials=1,
)
# Python compiles what stands in a `finally` twice, and so the innermost of eighteen 200,000 times.
_DEEP = "".join(f"{' ' * n}try:\n{' ' * n} pass\n{' ' * n}finally:\n" for n in range(18)) + " " * 18 + "pass\n"
COMPILED_WITHOUT_END = _DEEP * 40
LEAVES = ("outputs", "weight", "leaves")
MILLION = LEAF.format(storage=0, offset="n", shape="[1 << 20]", stride="[1]")
VALUE = ("outputs", "answer", "value")
FAULT = {
    "type": "E", "builtin": False, "message": "", "memory": False, "line": 1, "parsed": True, "code": "", "targets": [],
    "span": None,
    "parts": {},
    "operands": {},
}  # fmt: skip
NAME = {
    "type": "Tensor",
    "dtype": "int64",
    "shape": [1],
    "range": [0, 1],
    "learns": False,
    "length": None,
    "value": None,
}
ENDLESS_SHAPE = "{'kind': 'tensor', 'refused': 'x', 'dtype': 'float32', 'shape': [8] * 160_000}"
NEGATIVE = LEAF.format(storage=0, offset=0, shape="[-1, 5]", stride="[5, 1]")
BEYOND = LEAF.format(storage=0, offset=0, shape="[1 << 39, 0]", stride="[0, 0]")


def body(expression: str, *path: str | int) -> Edit:
    """Another value at a place of an observation."""
    return Edit("observation", "body", path, expression)


def header(expression: str, *path: str | int) -> Edit:
    """Another value at a place of what an observation's tensors say of themselves."""
    return Edit("observation", "header", path, expression)


FORGERIES = {
    "a leaf of a negative size": body(f"[{NEGATIVE}]", *LEAVES),
    "a leaf of a size beyond any memory": body(f"[{BEYOND}]", *LEAVES),
    "a leaf without strides": body("[]", *LEAVES, 0, "stride"),
    "sixty leaves of a million in one storage": body(f"[{MILLION} for n in range(60)]", *LEAVES),
    "thousands of leaves of a million": body(f"[{MILLION} for n in range(2400)]", *LEAVES),
    "a whole number of 400 digits": body("10**400", *VALUE),
    "a whole number of 65 bits": body("2**64", *VALUE),
    "a number that is not finite": body("float('nan')", *VALUE),
    "a number that is infinite as written": body("_raw('1e999')", *VALUE),
    "a list of thousands": body("[0] * 5000", *VALUE),
    "a list in lists": body("_raw('[' * 900 + ']' * 900)", *VALUE),
    "a list in thousands of lists": body("_raw('[' * 99_999 + ']' * 99_999)", *VALUE),
    "an object for a value": body("{'a': 1}", *VALUE),
    "a text without end": body("'x' * 400_000", *VALUE),
    "a shape of thousands of sizes": body(ENDLESS_SHAPE, "outputs", "doubled"),
    "a shape of another tensor": body("[2, 2]", "outputs", "doubled", "shape"),
    "a truth value for a size": body("[True] * 4", "outputs", "doubled", "shape"),
    "a truth value for a number": body("True", "outputs", "doubled", "storage"),
    "a kind that there is not": body("'answer'", "outputs", "doubled", "kind"),
    "a name not asked for": body("{'kind': 'missing'}", "outputs", "more"),
    "a name taken away": body("_Delete", "outputs", "doubled"),
    "a field twice": body("_raw('null, \"fault\": null')", "fault"),
    "targets without end": body(repr({**FAULT, "targets": ["h"] * 1000}), "fault"),
    "a line beyond any text": body(repr({**FAULT, "line": 10**30}), "fault"),
    "a span of three numbers": body(repr({**FAULT, "span": [1, 2, 3]}), "fault"),
    "a span before any text": body(repr({**FAULT, "span": [1, -1, 1, 2]}), "fault"),
    "a range of fractions": body(repr({**FAULT, "parts": {"h": {**NAME, "range": [0.5, 1]}}}), "fault"),
    "a list for the value of a name": body(repr({**FAULT, "parts": {"h": {**NAME, "value": [1]}}}), "fault"),
    "a name's field that there is not": body(repr({**FAULT, "parts": {"h": {**NAME, "more": 1}}}), "fault"),
    "names in an expression without end": body(repr({**FAULT, "parts": {f"h{n}": NAME for n in range(999)}}), "fault"),
    "functions without end": body("[['f', 'doubled']] * 9999", "defined"),
    "a type of tensor that there is not": header("'F4'", "doubled", "dtype"),
    "a tensor of another shape than its bytes": header("[1 << 20]", "doubled", "shape"),
    "a tensor that is elsewhere": header("[1 << 30, (1 << 30) + 16]", "doubled", "data_offsets"),
    "a tensor that nobody speaks of": header("{'dtype': 'F32', 'shape': [0], 'data_offsets': [0, 0]}", "more"),
    "a tensor that is not there": header("_Delete", "doubled"),
    "half of the bytes": Edit("observation", "data", (), "lambda data: data[: len(data) // 2]"),
    "a word for a gradient": Edit("gradients", "body", ("gradients", "doubled>weight"), "'right'"),
    "a gradient not asked for": Edit("gradients", "body", ("gradients", "answer>weight"), "'none'"),
    "a gradient without its tensor": Edit("gradients", "header", ("doubled>weight",), "_Delete"),
}


def graded(grader: Grader, source: str, of: Task = TASK) -> Report:
    """Grade, within the time and the size that anything may take."""
    begun_s = time.monotonic()
    report = grader.grade(of, source, seed="1")
    assert time.monotonic() - begun_s < MOST_S
    assert len(json.dumps(report.to_json())) <= MAX_REPORT_BYTES
    return report


def test_program_that_forges_nothing_is_judged_as_it_is(grader: Grader) -> None:
    """The way by which these tests forge changes nothing by itself."""
    assert graded(grader, forging(SOLUTION)).verdict is Verdict.PASSED
    wrong = SOLUTION.replace("ids\n", "ids * 2\n")
    assert graded(grader, forging(wrong)).checks == graded(grader, wrong).checks


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("trial", [0, 1], ids=["lesson", "fresh"])
def test_student_cannot_bring_the_judge_down_by_an_observation(grader: Grader, edit: Edit, trial: int) -> None:
    """What is not of the agreed form or beyond its bounds is the student's crash, whatever the data."""
    before = grader.restarts
    report = graded(grader, forging(SOLUTION, dataclasses.replace(edit, trial=trial)))
    assert report.verdict is Verdict.CRASHED
    assert grader.restarts == before


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES)
def test_forged_observation_of_a_run_that_is_not_judged_is_a_crash_too(grader: Grader, edit: Edit) -> None:
    """Run and Check read what comes back by the same rules."""
    assert grader.execute(TASK, forging(SOLUTION, edit)).verdict is Verdict.CRASHED


# What an author's check does with a value within all bounds, and what is said of a student who gives just that.
COSTLY = {
    "ends the judge": ("answer == 12 or __import__('os')._exit(3)", 13, Verdict.CRASHED),
    "crashes the judge": ("answer == 12 or __import__('ctypes').string_at(0)", 13, Verdict.CRASHED),
    "eats memory": ("answer == 12 or bytearray(answer)", 1 << 40, Verdict.FAILED),
    "floods its output": ("answer == 12 or [__import__('os').write(1, b'x' * 9999) for _ in range(answer)]", 9999,
                          Verdict.CRASHED),
    "computes without end": ("answer == 12 or sum(range(answer))", 1 << 40, Verdict.TIME_LIMIT),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "answer", "verdict"), COSTLY.values(), ids=COSTLY)
def test_what_a_value_brings_about_in_the_judge_is_the_students(
    grader: Grader, expression: str, answer: int, verdict: Verdict
) -> None:
    """The exercise's own solution is judged well, so the check is in order: the value is what cannot be seen."""
    checks = (*TASK.checks, Check("holds", "Holds", "holds", expression=expression))
    of = dataclasses.replace(TASK, exercise=f"costly-{verdict}", checks=checks)
    before = grader.restarts
    assert graded(grader, SOLUTION, of).verdict is Verdict.PASSED
    assert grader.grade(of, SOLUTION.replace("12", str(answer)), seed="1").verdict is verdict
    assert grader.restarts == before


def test_right_value_of_an_author_that_nothing_can_be_compared_with_ends_no_verdict(grader: Grader) -> None:
    """Only a wrong answer is compared with what `accept` gives; it fails, and nothing crashes."""
    doubled = dataclasses.replace(TASK.checks[1], accept=("torch.ones(4, device='meta')", "torch.ones(4).to_sparse()"))
    of = dataclasses.replace(TASK, exercise="raising", checks=(TASK.checks[0], doubled))
    assert graded(grader, SOLUTION, of).verdict is Verdict.PASSED
    report = graded(grader, SOLUTION.replace("* ids", "+ ids"), of)
    assert report.verdict is Verdict.FAILED
    assert [one.status.value for one in report.checks] == ["passed", "failed"]


@pytest.mark.parametrize(
    "check",
    [
        Check("own", "Own", "holds", expression="__import__('os')._exit(3)"),
        Check("own", "Own", "equal", of="doubled", given=(("weight",),), inputs=("nothing",)),
    ],
    ids=["ends the judge", "raises"],
)
@pytest.mark.parametrize("source", [SOLUTION, SOLUTION.replace("12", "13")], ids=["right", "wrong"])
def test_check_that_fails_on_the_exercises_own_solution_is_our_fault(grader: Grader, check: Check, source: str) -> None:
    """An author's slip is never told to a student as theirs."""
    of = dataclasses.replace(TASK, exercise=f"broken-{check.kind}", checks=(*TASK.checks, check))
    with pytest.raises(GraderFault, match="own solution cannot be judged"):
        grader.grade(of, source, seed="1")


def test_text_that_cannot_be_compiled_in_time_is_the_students(grader: Grader) -> None:
    """Compiling begins when whatever happens is the student's: the time it takes is theirs."""
    of = dataclasses.replace(TASK, limits=dataclasses.replace(TASK.limits, wall_time_s=0.3, memory_mib=4096))
    report = grader.grade(of, COMPILED_WITHOUT_END, seed="1")
    assert report.verdict is Verdict.TIME_LIMIT


def test_no_number_of_forged_submissions_restarts_anything(grader: Grader) -> None:
    """Submission after submission, as quickly as they are taken: each is the student's, and the processes stay."""
    before, edits = grader.restarts, list(FORGERIES.values())
    verdicts = Counter(
        graded(grader, forging(SOLUTION, edits[number % len(edits)])).verdict for number in range(SUBMISSIONS)
    )
    assert verdicts == {Verdict.CRASHED: SUBMISSIONS}
    assert grader.restarts == before


def test_any_forgery_ends_in_a_verdict_of_its_own(grader: Grader) -> None:
    """Real frames of right, failing and odd programs, changed anywhere: never our fault, never long, never large."""
    before, seen = grader.restarts, Seen()
    assert task("token-and-position-embeddings").fresh_trials > 0

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(forgeries())
    def example(forgery: tuple[str, str]) -> None:
        seen.grade(grader, *forgery)

    example()
    assert seen.bad == []
    assert grader.restarts == before
    assert sum(seen.verdicts.values()) >= EXAMPLES
    assert {"crashed", "failed", "error"} <= seen.verdicts.keys()
