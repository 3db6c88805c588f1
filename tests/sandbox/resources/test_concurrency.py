"""Threads and event loops are a program's own business: they work in a run as anywhere."""

from collections.abc import Callable

import pytest

from graders.report import Report, Verdict
from graders.sandbox.identity import uid_for

Run = Callable[[str], Report]

ASYNCIO = """
import asyncio

async def look_up(table, ids):
    return table(ids)

async def main():
    return await asyncio.gather(look_up(token_emb, x), look_up(pos_emb, torch.arange(block_size)))

token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok, pos = asyncio.run(main())
h = tok + pos
"""
WORKS = {
    "a thread beside the loop": "print(asyncio.run(asyncio.to_thread(sum, [1, 2])))",
    "an executor": (
        "async def go(): return await asyncio.get_running_loop().run_in_executor(None, sum, [1, 2])\n"
        "print(asyncio.run(go()))"
    ),
    "a group of tasks": (
        "async def go():\n    async with asyncio.TaskGroup() as group:\n"
        "        made = group.create_task(asyncio.sleep(0.001, 3))\n"
        "    return made.result()\nprint(asyncio.run(go()))"
    ),
    "a queue and a deadline": (
        "async def go():\n    q = asyncio.Queue()\n    await q.put(3)\n    return await asyncio.wait_for(q.get(), 1)\n"
        "print(asyncio.run(go()))"
    ),
    "two loops, one after the other": (
        "first = asyncio.run(asyncio.sleep(0, 1))\nloop = asyncio.new_event_loop()\n"
        "print(first + loop.run_until_complete(asyncio.sleep(0, 2)))\nloop.close()"
    ),
    "streams over a pair of sockets": (
        "import socket\na, b = socket.socketpair()\nasync def go():\n"
        "    _, writer = await asyncio.open_connection(sock=a)\n    writer.write(b'3')\n    await writer.drain()\n"
        "    reader, _ = await asyncio.open_connection(sock=b)\n    return (await reader.read(1)).decode()\n"
        "print(asyncio.run(go()))"
    ),
    "a pool of threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool: print(sum(pool.map(abs, [-1, -2])))"
    ),
    "another selector": (
        "import selectors\nloop = asyncio.SelectorEventLoop(selectors.PollSelector())\n"
        "print(loop.run_until_complete(asyncio.sleep(0, 3)))"
    ),
}


def test_tables_may_be_looked_up_in_an_event_loop(grade: Callable[..., Report]) -> None:
    """How a right answer arranges its work is not judged."""
    assert grade(ASYNCIO).verdict is Verdict.PASSED


@pytest.mark.parametrize("code", WORKS.values(), ids=WORKS)
def test_what_a_program_does_within_itself_works(run: Run, code: str) -> None:
    """None of it needs anybody else."""
    report = run(f"import asyncio\n{code}")
    assert report.error is None
    assert report.output == "3\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import asyncio\nasyncio.run(asyncio.create_subprocess_exec('true'))", "one process only"),
        (
            "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(1).submit(abs, -1).result()",
            "Threads and asyncio do work",
        ),
        ("import asyncio\nasyncio.run(asyncio.open_connection('127.0.0.1', 80))", "wants the network"),
    ],
    ids=["a program", "a pool of processes", "a connection"],
)
def test_what_a_run_cannot_do_is_said_with_the_reason(grade: Callable[..., Report], code: str, reason: str) -> None:
    """And what could be done instead."""
    report = grade(code)
    assert report.error is not None
    assert report.error.type == "PermissionError"
    assert reason in report.error.explanation


def test_too_many_threads_are_told_as_such(grade: Callable[..., Report]) -> None:
    """Not as something that torch could not do."""
    if uid_for(0) is None:
        pytest.skip("threads are counted by user, and runs have none of their own here")
    report = grade(
        "import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(9,)).start()"
    )
    assert report.error is not None
    assert "threads" in report.error.explanation
