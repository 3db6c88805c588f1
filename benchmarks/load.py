"""
A whole class presses Check at the same time: how long until each has a verdict, and what are they told meanwhile?

    .venv/bin/python benchmarks/load.py [--students 300] [--within 30] [--mode embedded|split]

Each student sends right code once, at a moment within the first thirty seconds, and follows the events as the page
does. Embedded is `kelolo serve` on SQLite; split is two webs and one worker on PostgreSQL. Both have a slot for each
core. Printed: the time from sending to the verdict, what was lost, and whether the place in the queue that each student
was shown only ever fell. Exit code 1 if something was lost, or a place rose.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx2

from tools.local_site import EXERCISE, Installation, embedded, installation, percentiles, postgresql

SOURCE = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""
GIVE_UP_S = 300.0


@dataclass
class Student:
    """What one of them saw."""

    accepted_s: float = 0.0
    """From pressing Check until it was taken in."""
    verdict_s: float = 0.0
    """From pressing Check until the verdict."""
    verdict: str | None = None
    refused: int = 0
    """How often the site was too busy, and it was sent again after the time that the answer named."""
    places: list[int] = field(default_factory=list)
    shown_at_s: list[float] = field(default_factory=list)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--students", type=int, default=300, help="how many there are")
    parser.add_argument("--within", type=float, default=30.0, help="seconds within which all press Check")
    parser.add_argument("--mode", choices=("embedded", "split"), default="embedded", help="on one machine, or more")
    parser.add_argument("--queue-limit", type=int, default=400, help="how many may wait before there is no more room")
    args = parser.parse_args()
    settings: dict[str, object] = {"queue_limit": args.queue_limit, "workers": os.cpu_count() or 1}
    with ExitStack() as stack:
        if args.mode == "embedded":
            site = stack.enter_context(embedded(users=args.students, settings=settings))
        else:
            url = stack.enter_context(postgresql()).get_uri()
            site = stack.enter_context(installation(url, webs=2, graders=1, users=args.students, settings=settings))
        begun_s = time.monotonic()
        students = asyncio.run(press_check(site, within_s=args.within))
        print(f"{args.mode}: {len(students)} pressed Check within {args.within:.0f} s", end="")
        print(f", all had a verdict after {time.monotonic() - begun_s:.0f} s")
    return report(students)


async def press_check(site: Installation, *, within_s: float) -> list[Student]:
    """All of them at once."""
    draw = random.Random(1)
    students = [Student() for _ in site.tokens]
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(30.0, read=GIVE_UP_S), limits=limits) as client:
        webs = itertools.cycle(web.address or "" for web in site.webs)
        presses = [
            one_student(client, student, web=next(webs), token=token, after_s=draw.uniform(0, within_s))
            for student, token in zip(students, site.tokens, strict=True)
        ]
        await asyncio.gather(*presses)
    return students


async def one_student(client: httpx2.AsyncClient, student: Student, *, web: str, token: str, after_s: float) -> None:
    """Send once, and follow what is told until there is a verdict."""
    await asyncio.sleep(after_s)
    pressed_s = time.monotonic()
    headers = {"Authorization": f"Bearer {token}"}
    while True:
        sent = await client.post(
            f"{web}/api/v1/exercises/{EXERCISE}/submissions", json={"source": SOURCE}, headers=headers
        )
        if sent.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
            break
        student.refused += 1
        await asyncio.sleep(float(sent.headers["Retry-After"]))
    sent.raise_for_status()
    student.accepted_s = time.monotonic() - pressed_s
    async with client.stream("GET", f"{web}{sent.headers['Location']}/events", headers=headers) as events:
        async for line in events.aiter_lines():
            if line.startswith("data:"):
                see(student, json.loads(line.removeprefix("data:")))
    student.verdict_s = time.monotonic() - pressed_s


def see(student: Student, state: dict[str, object]) -> None:
    """Take in one event."""
    if state["state"] == "queued":
        student.places.append(int(str(state["place"])))
        student.shown_at_s.append(time.monotonic())
    elif state["state"] == "graded":
        student.verdict = str(state["verdict"])


def report(students: list[Student]) -> int:
    """Print the figures, and return the exit code."""
    graded = [one for one in students if one.verdict == "passed"]
    rises = sum(b > a for one in students for a, b in itertools.pairwise(one.places))
    falls = sum(b < a for one in students for a, b in itertools.pairwise(one.places))
    gaps = [b - a for one in students for a, b in itertools.pairwise(one.shown_at_s)]
    print(f"taken in after:  {percentiles([one.accepted_s for one in students])}")
    print(f"verdict after:   {percentiles([one.verdict_s for one in graded])}")
    busy = sum(one.refused for one in students)
    print(f"passed {len(graded)} of {len(students)}; answered 503, and sent again: {busy}")
    shown = [place for one in students for place in one.places]
    print(f"places shown: {len(shown)}, the last of all {max(shown, default=0)}")
    print(f"of a place to the next: it fell {falls} times, rose {rises} times; time between: {percentiles(gaps)}")
    return 0 if len(graded) == len(students) and not rises else 1


if __name__ == "__main__":
    sys.exit(main())
