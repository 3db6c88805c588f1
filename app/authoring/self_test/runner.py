"""
The gate for publishing: does an exercise accept what is right, refuse what is wrong, and name it?

Everything goes through the real grader, as a student's code would.
"""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.authoring.exercise import CodeExercise, Wrong
from app.authoring.question import Question
from app.authoring.self_test.disguises import DISGUISES
from app.authoring.self_test.findings import Tested
from app.authoring.self_test.mutants import Mutant, mutants
from app.authoring.self_test.slip_catalogue import SLIPS
from app.authoring.self_test.survey import surveyed
from graders.faults import AuthorFault, GraderFault
from graders.grader import Grader
from graders.report import CheckStatus, Report, Verdict
from graders.task import Task

_JUDGE = "`judge`"
_WITHOUT_PREDICATES = -1  # in the place of a version: the exercise as it would be without them

Progress = Callable[[int, int, str], None]  # done, of how many, what comes now


class SelfTest:
    """Tests one exercise with one grader."""

    def __init__(self, exercise: CodeExercise, grader: Grader, *, seeds: int, progress: Progress) -> None:
        """
        Prepare.

        Args:
            exercise: to be tested.
            grader: started.
            seeds: how many seeds right solutions and wrong variants are tried with.
            progress: told before each run.
        """
        self._exercise, self._grader, self._progress = exercise, grader, progress
        self._seeds = [f"self-test-{number}" for number in range(seeds)]
        self._task: Task = exercise.task(1)
        self._result = Tested(exercise.id)
        self._mutants = mutants(exercise)
        self._slips = [(slip, source) for slip in SLIPS if (source := slip.on(exercise)) is not None]
        starts = sum(one.is_start and one.on(exercise, exercise.solution) != exercise.solution for one in DISGUISES)
        right = (1 + starts + len(exercise.equivalents)) * seeds
        self._total = right + 1 + 2 * len(exercise.wrong) * seeds + len(self._mutants) + len(self._slips)
        self._done = 0
        self._raised: set[str] = set()  # by the judge block, on what is wrong
        self._exercised: set[str] = set()  # checks that have failed for something wrong

    def run(self) -> Tested:
        """Test, and say what was found; only that, where the exercise's own code cannot be run on its data."""
        if not surveyed(self._task, self._grader, self._result):
            return self._result
        self._accepts("the solution", self._exercise.solution)
        for equivalent in self._exercise.equivalents:
            self._accepts(f"the equivalent “{equivalent.why}”", equivalent.code)
        self._refuses_starter()
        for number, wrong in enumerate(self._exercise.wrong):
            self._names(wrong)
            self._stays_wrong(number, wrong)
        self._starts_anyhow()
        for mutant in self._mutants:
            self._kills(mutant)
        for slip, source in self._slips:
            self._misnames(slip.name, source, slip.tags)
        self._excuses_used()
        self._all_exercised()
        return self._result

    def _grade(self, subject: str, source: str, seed: str) -> Report | None:
        examined = self._examine(subject, source, seed)
        return examined[0] if examined is not None else None

    def _examine(self, subject: str, source: str, seed: str) -> tuple[Report, tuple[AuthorFault, ...]] | None:
        self._progress(self._done, self._total, subject)
        self._done += 1
        self._grader.prepare(self._task.limits)
        try:
            return self._grader.examine(self._task, source, seed=seed)
        except GraderFault as fault:  # told once: it is not the fault of what was graded
            known = f"cannot be graded: {fault}"
            if not any(one.problem == known for one in self._result.findings):
                self._find(subject, known)
            return None

    def _find(self, subject: str, problem: str, diff: str = "") -> None:
        self._result.find(subject, problem, diff)

    def _accepts(self, subject: str, source: str) -> None:
        for seed in self._seeds:
            report, faults = self._examine(subject, source, seed) or (None, ())
            self._result.right_runs += 1
            for fault in faults:
                if (fault.text, _without_values(fault)) not in self._known_faults():
                    self._find(fault.text, f"{fault.exception}; that is with what {subject} makes")
            if report is not None and report.verdict is not Verdict.PASSED:
                self._find(subject, f"must pass, but is {report.verdict.value} with seed {seed}: {_why(report)}")

    def _refuses_starter(self) -> None:
        report = self._grade("the starter", self._exercise.starter, self._seeds[0])
        self._result.wrong_runs += 1
        if report is not None and report.verdict is Verdict.PASSED:
            self._find("the starter", "passes as it is, so there is nothing to do")

    def _names(self, wrong: Wrong) -> None:
        subject = f"the wrong variant “{wrong.tag}”"
        self._result.variants += 1
        source = variant_source(self._exercise, wrong)
        graded = [self._wrong(subject, source, seed) for seed in self._seeds]
        reports = [one for one in graded if one is not None]
        for report in reports:
            if report.verdict is not Verdict.PASSED:
                self._judge_variant(subject, wrong, report)
        passed = [one.seed for one in reports if one.verdict is Verdict.PASSED]
        self._result.passes[wrong.tag] = len(passed), len(reports)
        if passed and len(passed) == len(reports):
            self._find(subject, "passes; add a check that it fails")
        elif passed:
            share = f"{len(passed)} of {len(reports)} seeds ({len(passed) / len(reports):.1%}), such as {passed[0]}"
            self._find(subject, f"passes with {share}; let `require` draw data on which it always shows")

    def _stays_wrong(self, number: int, wrong: Wrong) -> None:
        """In a disguise that hides what it does, another one for each variant and seed."""
        for turn, seed in enumerate(self._seeds):
            disguise = DISGUISES[(number + turn) % len(DISGUISES)]
            subject = f"the wrong variant “{wrong.tag}” with {disguise.name}"
            report = self._wrong(subject, disguise.on(self._exercise, variant_source(self._exercise, wrong)), seed)
            if report is not None and report.verdict is Verdict.PASSED:
                self._find(subject, "passes; add a check that it fails, or make a tolerance smaller")

    def _wrong(self, subject: str, source: str, seed: str) -> Report | None:
        report, faults = self._examine(subject, source, seed) or (None, ())
        self._result.wrong_runs += 1
        self._judge_raises(subject, faults)
        self._exercised |= failed(report) if report is not None else set()
        return report

    def _known_faults(self) -> set[tuple[str, str]]:
        """What the author's texts raised, as far as it is told already."""
        return {(one.subject, one.problem.partition(":")[0]) for one in self._result.findings}

    def _judge_raises(self, subject: str, faults: tuple[AuthorFault, ...]) -> None:
        """On an answer that is wrong: told once for each line and exception, with the first answer that showed it."""
        for fault in faults:
            what = _without_values(fault)
            if fault.text == _JUDGE and what not in self._raised:
                self._raised.add(what)
                advice = f"so what asks for its names is not run; let its lines fit what {subject} makes as well"
                self._find(_JUDGE, f"raises for {subject}, {advice}. It {fault.exception}")

    def _starts_anyhow(self) -> None:
        """What a table starts with is the student's own affair, as long as a right step is right with it."""
        for disguise in DISGUISES:
            source = disguise.on(self._exercise, self._exercise.solution)
            if disguise.is_start and source != self._exercise.solution:
                self._accepts(f"the solution with {disguise.name}", source)

    def _judge_variant(self, subject: str, wrong: Wrong, report: Report) -> None:
        lacking = sorted(set(wrong.failing) - failed(report))
        if lacking:
            self._find(
                subject, f"must fail {', '.join(lacking)}; it fails {', '.join(sorted(failed(report))) or 'nothing'}"
            )
            return  # it cannot be recognised while this stands
        tag = report.misconception.tag if report.misconception else None
        if tag != wrong.tag:
            problem = f"is taken for “{tag}”: the two cannot be told apart" if tag else "is not recognised"
            self._find(subject, problem)

    def _kills(self, mutant: Mutant) -> None:
        report = self._grade(f"a mutant that {mutant.what}", mutant.source, self._seeds[0])
        self._result.mutants += 1
        if report is None:
            return
        if report.verdict is Verdict.PASSED:
            self._survives(mutant)
            return
        self._result.killed += 1
        self._exercised |= failed(report)
        for check in failed(report):
            self._result.kills[check] = self._result.kills.get(check, 0) + 1

    def _misnames(self, slip: str, source: str, tags: frozenset[str]) -> None:
        """Nothing but what happened may be named; a variant whose own program makes the same is what happened."""
        report = self._grade(f"the slip “{slip}”", source, self._seeds[0])
        self._result.slips += 1
        tag = report.misconception.tag if report is not None and report.misconception is not None else ""
        if not tag or tag in tags or self._is_known_by_its_outputs(tag, source):
            return
        own = f"; where that is what happened, call it {' or '.join(sorted(tags))}" if tags else ""
        problem = f"is named for the slip “{slip}”: make its `when` ask for what a student did, and for nothing less"
        self._find(f"the wrong variant “{tag}”", f"{problem}{own}", source)

    def _is_known_by_its_outputs(self, tag: str, source: str) -> bool:
        wrong = tuple(replace(one, when="") for one in self._task.wrong if one.tag == tag)
        task = replace(self._task, version=_WITHOUT_PREDICATES, wrong=wrong)
        report = self._grader.grade(task, source, seed=self._seeds[0])
        return report.misconception is not None

    def _survives(self, mutant: Mutant) -> None:
        if any(one.line == mutant.line for one in self._exercise.equivalent_mutants):
            self._result.excused += 1
            return
        problem = "passes: add a check that it fails, or list its line under `equivalent_mutants` with a reason"
        self._find(f"a mutant that {mutant.what}", problem, mutant.diff)

    def _all_exercised(self) -> None:
        """A check that nothing wrong fails may hold whatever is written; one for other data speaks for the rest."""
        for check in self._exercise.checks:
            if check.other_sizes is None and check.id not in self._exercised:
                self._find(
                    f"the check “{check.id}”",
                    "is failed by no wrong variant and no mutant, so it may hold whatever is written; "
                    "add a wrong variant that it fails, or take it out",
                )

    def _excuses_used(self) -> None:
        lines = {mutant.line for mutant in self._mutants}
        for one in self._exercise.equivalent_mutants:
            if one.line not in lines:
                self._find("equivalent_mutants", f"no mutant has the line `{one.line}` any more; take it out")


def variant_source(exercise: CodeExercise, wrong: Wrong) -> str:
    """
    A wrong variant as code: its own, or the solution with the wrong expressions put in where the outputs are made.

    Expressions speak of tables as tensors; in code a table may be a layer, so its weight is taken.
    """
    if wrong.code is not None:
        return wrong.code
    tables = {one.name for one in exercise.outputs if one.kind == "table"}
    lines: list[str] = []
    for statement in ast.parse(exercise.solution).body:
        lines.append(ast.unparse(statement))
        made = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        lines += [
            f"{name} = {_over_weights(text, tables)}" for name, text in (wrong.outputs or {}).items() if name in made
        ]
    return "\n".join(lines)


def _over_weights(expression: str, tables: set[str]) -> str:
    class Weights(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return (
                ast.parse(f"getattr({node.id}, 'weight', {node.id})", mode="eval").body if node.id in tables else node
            )

    return ast.unparse(Weights().visit(ast.parse(expression, mode="eval")))


def _without_values(fault: AuthorFault) -> str:
    """The exception and its line."""
    return fault.exception.partition(":")[0]


def failed(report: Report) -> set[str]:
    """Ids of the checks that have failed."""
    return {check.id for check in report.checks if check.status is CheckStatus.FAILED}


def _why(report: Report) -> str:
    failures = [f"{check.id}: {check.message}" for check in report.checks if check.status is not CheckStatus.PASSED]
    return " ".join([report.note, report.error.message if report.error else "", *failures[:2]]).strip()


def tested_question(question: Question) -> Tested:
    """A question needs no grader: its answers are looked at as they stand."""
    result = Tested(question.id, right_runs=1, variants=len(question.wrong), wrong_runs=len(question.wrong))
    task = question.task(1)
    if task.grade(_written(task.right)).verdict is not Verdict.PASSED:
        result.find("the answer", "is not accepted when it is typed in")
    for one in question.wrong:
        report = task.grade(_written(one.answer))
        if report.misconception is None or report.misconception.tag != one.tag:
            result.find(f"the wrong answer “{one.tag}”", "is not recognised when it is typed in")
    return result


def _written(answer: Any) -> str:  # noqa: ANN401  a number, keys or sizes
    return ", ".join(str(one) for one in answer) if isinstance(answer, list) else repr(answer)
