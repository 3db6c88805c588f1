"""What is compiled once for all submissions to an exercise is what each would have compiled for itself."""

import pytest

from graders.code_cache import CodeCache
from graders.judge.compilation import CompiledExercise, for_judge, for_student
from graders.pool.exercise_payloads import ExercisePayloads
from graders.protocol.ending import Ended
from graders.protocol.frames import Frame, FrameType
from graders.starting_code import Setup
from graders.task import Task


def test_a_text_is_compiled_once_and_survives_the_way_to_another_run() -> None:
    """Code comes out of the bytes that runs the same, and nothing is compiled for it."""
    code_cache = CodeCache()
    made = [code_cache.compiled(("sum", "1 + 1"), lambda: compile("1 + 1", "<test>", "eval")) for _ in range(2)]
    assert made[0] is made[1]
    there = CodeCache(code_cache.pack())
    assert eval(there.compiled(("sum", "1 + 1"), pytest.fail)) == 2  # noqa: S307


def test_an_exercise_is_the_same_after_packing(task: Task) -> None:
    """With all its wrong variants, in the author's order."""
    exercise = CompiledExercise.unpacked(for_judge(task))
    assert exercise.wrong() == task.wrong
    assert exercise.task == CompiledExercise.of(task).task


def test_a_students_run_is_sent_nothing_of_the_solution(task: Task) -> None:
    """Its texts are the starting code's: no output's name, no check, no message is among them."""
    packed = for_student(task)
    assert b"get_batch" in packed
    for secret in [one.name for one in task.outputs if len(one.name) > 3] + [one.message[:30] for one in task.wrong]:
        assert secret.encode() not in packed


def test_starting_code_that_was_packed_runs_as_written_and_with_other_values(task: Task) -> None:
    """Nothing is compiled for it: the text is not even looked at."""
    code_cache = CodeCache(for_student(task))
    setup = Setup(task.setup, task.require, code_cache)
    fresh = {"words": ["ab", "cd"], "block_size": 2, "batch_size": 3, "n_embd": 4}
    assert [_width(setup, values) for values in (fresh, {})] == [4, 32]


def _width(setup: Setup, values: dict[str, object]) -> object:
    names: dict[str, object] = {}
    setup.run([values], names)
    return names["n_embd"]


def _compiling(answers: list[Frame | Ended], asked: list[Frame]) -> ExercisePayloads:
    def compile_(order: Frame) -> Frame:
        asked.append(order)
        answer = answers.pop(0)
        if isinstance(answer, Ended):
            raise answer
        return answer

    return ExercisePayloads(compile_)


def test_an_exercise_is_compiled_at_its_first_submission_only(task: Task) -> None:
    """The bytes for the two kinds of runs are told apart by the length that is said of the judge's."""
    asked: list[Frame] = []
    payloads = _compiling([Frame(FrameType.COMPILED, {"judge_bytes": 3}, b"JJJSS")], asked)
    assert payloads.of(task) is payloads.of(task)
    assert len(asked) == 1
    assert payloads.of(task).for_student("x = 1", {}).tensors == b"SS"
    judge = payloads.of(task).for_judge()
    assert (judge.tensors, judge.body) == (b"JJJ", {})


@pytest.mark.parametrize("answer", [Ended("time"), Frame(FrameType.OUTCOME, {}), Frame(FrameType.COMPILED, {})])
def test_what_cannot_be_compiled_ahead_is_sent_as_text(task: Task, answer: Frame | Ended) -> None:
    """So what is wrong with it is told where it is run, as always."""
    payload = _compiling([answer], []).of(task)
    assert payload.for_student("x = 1", {}).tensors == b""
    assert payload.for_judge().body["task"] == task.as_json
