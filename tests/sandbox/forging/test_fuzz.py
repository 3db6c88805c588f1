"""Whatever bytes come out of a run, the parent and the judge answer with a value of ours, in bounded memory."""

import contextlib
import copy
import dataclasses
import functools
import json
import random
import resource
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graders.judge import warmup as judging
from graders.judge.values.decode_observation import Observation, read
from graders.protocol.ending import PrintedOutput
from graders.protocol.frames import (
    HEADER,
    MAGIC,
    MAX_JSON_BYTES,
    MAX_TENSOR_BYTES,
    Frame,
    FrameRefused,
    decode_body,
    read_header,
)
from graders.protocol.observation_schema import ObservationRefused, ObservationSchema
from graders.report import Report, Timing
from graders.reporting import assembly
from graders.student import warmup as running
from graders.task import WrongVariant

CASES = 10_000
SOME = 0.5
DEEPEST = 3
NUMBERS = (0, 1, -1, 2**63, 10**30, 0.5, -1e308, 7, 10**10)
WORDS = ("", "tensor", "none", "table", "passed", "not_run", "\x00", "\ud800", "<b>", "h", "F64", "line", "x" * 5000)
MOST_MIB = 200  # more resident than before, after all cases: some bounds' worth, never what a header observations
many = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))

seeds = st.integers(0, 2**64)  # of the damage: drawn by Hypothesis piece by piece it takes ten times as long


@pytest.fixture(autouse=True)
def _memory_stays() -> Iterator[None]:
    honest_outcome()  # torch's own memory is not what is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MOST_MIB


@many
@given(
    magic=st.just(MAGIC) | st.binary(min_size=4, max_size=4),
    kind=st.integers(0, 255),
    lengths=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
    | st.sampled_from([(MAX_JSON_BYTES, MAX_TENSOR_BYTES), (MAX_JSON_BYTES + 1, 0), (2, MAX_TENSOR_BYTES + 1)]),
)
def test_header_is_read_or_refused(magic: bytes, kind: int, lengths: tuple[int, int]) -> None:
    """Any header gives lengths within the bounds, or FrameRefused; what it observations costs nothing."""
    with contextlib.suppress(FrameRefused):
        _, said_json, said_tensors = read_header(HEADER.pack(magic, kind, *lengths))
        assert said_json <= MAX_JSON_BYTES
        assert said_tensors <= MAX_TENSOR_BYTES


@many
@given(seeds)
def test_body_is_read_or_refused(seed: int) -> None:
    """Bytes that once were JSON, nested thousands deep or full of NaN, are JSON again or FrameRefused."""
    dice = random.Random(seed)
    body = json.dumps(spoilt(dice, honest_outcome()), ensure_ascii=dice.random() < SOME).encode(
        "utf-8", "surrogatepass"
    )
    body = dice.choice([body, b"[" * dice.randrange(20_000), b'{"a":' * dice.randrange(9_000), b'{"a": -Infinity}'])
    with contextlib.suppress(FrameRefused):
        json.dumps(decode_body(spoilt_bytes(dice, body)), allow_nan=False)


@many
@given(seeds)
def test_observation_is_refused_or_read(seed: int) -> None:
    """A right observation with any parts of it replaced, its tensors' bytes too, is refused by the schema or is one."""
    dice = random.Random(seed)
    observation, gradients = honest()
    made = Frame(observation.type, spoilt(dice, observation.body), spoilt_bytes(dice, observation.tensors))
    found = Frame(gradients.type, spoilt(dice, gradients.body), spoilt_bytes(dice, gradients.tensors))
    with contextlib.suppress(ObservationRefused):
        SCHEMA.check_observation(made)
        SCHEMA.check_gradients(found)
        assert isinstance(read(running.STUDENT_PART, made, found), Observation)


@many
@given(seeds)
def test_outcome_is_read_or_refused(seed: int) -> None:
    """Whatever a judge says, if only because an author's code made it, is a report that is JSON, or refused."""
    outcome = spoilt(random.Random(seed), honest_outcome())
    run = assembly.Execution(None, PrintedOutput(9, 9), Timing())
    with contextlib.suppress(assembly.OutcomeRefused):
        report = assembly.judged(TASK, run, assembly.read_outcome(TASK, outcome), seed="0")
        assert isinstance(report, Report)
        assert len(json.dumps(report.to_json(), allow_nan=False).encode()) <= assembly.MAX_REPORT_BYTES
        assert {type(text) for one in report.checks for text in (one.id, one.title, one.message)} <= {str}
        assert max(len(one.message) for one in report.checks) <= assembly.MAX_MESSAGE_CHARS
        assert {type(size) for one in report.tensors for size in one.shape} <= {int}


@functools.cache
def honest() -> tuple[Frame, Frame]:
    """What the sample run hands over on its first data."""
    return running.run_sample()[0]


@functools.cache
def honest_outcome() -> dict[str, Any]:
    """What the judge says of the sample."""
    outcome: dict[str, Any] = judging.run_sample()
    more = {"tag": "a", "message": "b"}, {"type": "ValueError", "message": "m", "line": 3, "explanation": "e"}
    return {**outcome, "misconception": more[0], "error": more[1]}


SCHEMA = ObservationSchema(running.STUDENT_PART)
TASK = dataclasses.replace(judging._TASK, wrong=(WrongVariant("a", "b"),))  # noqa: SLF001  what the honest outcome is of


def spoilt(dice: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """The same with up to three places replaced by anything."""
    body = copy.deepcopy(body)
    for _ in range(dice.randrange(4)):
        holder, key = dice.choice(positions(body))
        holder[key] = anything(dice)
    return body


def positions(value: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Every place in nested JSON at which something else could stand."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in list(inside) for place in ((value, key), *positions(one))]


def anything(dice: random.Random, depth: int = 0) -> Any:  # noqa: ANN401
    """Some JSON."""
    kind = dice.randrange(8 if depth < DEEPEST else 6)
    if kind == 6:
        return [anything(dice, depth + 1) for _ in range(dice.randrange(4))]
    if kind == 7:
        return {dice.choice(WORDS): anything(dice, depth + 1) for _ in range(dice.randrange(4))}
    return dice.choice([None, True, dice.choice(NUMBERS), dice.choice(NUMBERS), dice.choice(WORDS), dice.choice(WORDS)])


def spoilt_bytes(dice: random.Random, packed: bytes) -> bytes:
    """The same bytes, or some of them others, or fewer."""
    place = dice.randrange(len(packed) + 1)
    if dice.random() < SOME:
        return packed
    return dice.choice([packed[:place], packed[:place] + dice.randbytes(8) + packed[place + 1 :], dice.randbytes(64)])
