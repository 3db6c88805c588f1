"""
A run of a sample of our own, so that the first run of a student's code is not the first of anything.

In the warm process it settles what Python learns about hot code, once for all forks. In a fork that waits for its
job it touches the pages that the real run will need: a fork shares them with its parent until they are used, and
each first use costs microseconds, thousands of times.
"""

import contextlib
import functools
import linecache
import sys
from collections.abc import Iterator

import torch

from graders.code_cache import CodeCache
from graders.protocol.frames import HEADER, Frame, FrameType, decode_body, read_header
from graders.starting_code import Setup
from graders.student.execution import Program
from graders.student.main_module import FILE
from graders.student.probe import Probe
from graders.student.session import StudentSession
from graders.task import StudentPart

SETUP = """
import torch
import torch.nn as nn

words = "ada bo cy ed fay gus".split()
chars = sorted(set("".join(words)))
ids = {c: i for i, c in enumerate(chars)}
rows = 20
width = 32
torch.manual_seed(0)
starts = torch.randint(8, (32,), generator=torch.Generator().manual_seed(0))
data = torch.tensor([ids[c] for word in words for c in word])
x = torch.stack([data[s : s + 8] for s in starts])
"""
SOURCE = """
class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = nn.Linear(size, size)

    def forward(self, value):
        return self.inner(value)


table = nn.Embedding(rows, width)
places = nn.Embedding(x.shape[1], width)
found = table(x)
h = found + places(torch.arange(x.shape[1]))
best = (Layer(width)(h) @ table.weight.T).softmax(dim=-1).argmax(-1)
text = f"{list(h.shape)} {h[0, 0]}"
"""
DRAWS = (None, 1)  # the lesson's data and others
SEED = 1
STUDENT_PART = StudentPart(
    setup=SETUP,
    require="rows > 2",
    params={
        "words": {"kind": "words", "low": 10, "high": 14},
        "rows": {"kind": "integer", "low": 19, "high": 30, "lesson": 20},
    },
    outputs=(("table", "table"), ("places", "table"), ("found", "tensor"), ("h", "tensor")),
    inputs=("x",),
    gradients=(("h", "table"), ("found", "table")),
    free_tables=("table", "places"),
)


def run_sample() -> list[tuple[Frame, Frame]]:
    """Run the sample on two trials; observation and gradients of each. Nothing of it is left behind."""
    with untouched():
        return [_run_sample(draw) for draw in DRAWS]


def _run_sample(draw: int | None) -> tuple[Frame, Frame]:
    # each a first trial: from the second on a run is silenced, which cannot be undone
    job = arrived(Frame(FrameType.JOB, {**STUDENT_PART.to_json(), "trial": {"draw": draw}}, _compiled()))
    part = StudentPart.from_json(job.body)
    run = StudentSession(
        part,
        lambda: Program(SOURCE, time_s=part.wall_time_s),
        ready=lambda: None,
        folders=False,
        code_cache=CodeCache(job.tensors),
    )
    observation = run.execute(job.body["trial"])
    run.look_for_blind()
    found = run.gradients(SEED)
    run.rest()
    return arrived(observation), arrived(found)


@functools.cache
def _compiled() -> bytes:
    """The sample's starting code, as an exercise's is handed over."""
    code_cache = CodeCache()
    Setup(STUDENT_PART.setup, STUDENT_PART.require, code_cache).open(frozenset(STUDENT_PART.params))
    Probe(STUDENT_PART.probe, code_cache)
    return code_cache.pack()


def arrived(frame: Frame) -> Frame:
    """The same after its way through a pipe."""
    raw = frame.encode()
    kind, json_bytes, _ = read_header(raw[: HEADER.size])
    end = HEADER.size + json_bytes
    return Frame(kind, decode_body(raw[HEADER.size : end]), raw[end:])


@contextlib.contextmanager
def untouched() -> Iterator[None]:
    """Afterwards streams, `__main__`, names of files and randomness are as before."""
    streams = sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__
    main, arguments, randomness = sys.modules["__main__"], sys.argv, torch.get_rng_state()
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]
        sys.modules["__main__"], sys.argv = main, arguments
        torch.set_rng_state(randomness)
        linecache.cache.pop(FILE, None)
