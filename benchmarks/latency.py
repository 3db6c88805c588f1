"""
How long does a verdict take, beside a fresh Python that imports torch and runs the same checks without a wall?

    .venv/bin/python benchmarks/latency.py [--rounds 50] [--json]

Both ways grade the same submission, in turn, in one run on one machine, so that the ratio means something where the
times do not. Then the same through HTTP, from POST to verdict, against a `kelolo serve` that the script
starts and stops.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2

from app.authoring import load_code_exercise
from app.settings import ROOT
from graders.grader import Grader
from graders.report import Verdict
from graders.task import Task
from graders.trials import new_seed

EXERCISE = ROOT / "exercises/embeddings/token-and-position/token-and-position-embeddings"
FRESH = Path(__file__).with_name("fresh_process.py")
KELOLO = str(Path(sys.executable).with_name("kelolo"))
WANTED_RATIO = 60.0


def main() -> int:
    """Measure, print, and say in the exit code whether the ratio is reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50, help="how often each way is measured")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    exercise = load_code_exercise(EXERCISE)
    with tempfile.TemporaryDirectory(prefix="kelolo-latency-") as folder:
        figures = in_turn(exercise.task(1), exercise.solution, rounds=args.rounds, folder=Path(folder))
        figures |= through_http(exercise.solution, rounds=args.rounds, data=Path(folder) / "data")
    print(json.dumps(figures, indent=1) if args.json else described(figures))
    return 0 if figures["ratio"] >= WANTED_RATIO else 1


def in_turn(task: Task, source: str, *, rounds: int, folder: Path) -> dict[str, float]:
    """One fresh process and one warm run after the other, `rounds` times each; milliseconds."""
    order = folder / "order.json"
    order.write_text(json.dumps({"task": task.to_json(), "source": source}))
    fresh_ms, warm_ms = [], []
    with Grader(scratch=folder / "scratch") as grader:
        for _ in range(3):
            grader.grade(task, source, seed=new_seed())
        for _ in range(rounds):
            grader.prepare(task.limits)  # as a worker does between two submissions
            fresh_ms.append(timed_ms(lambda: fresh(order)))
            warm_ms.append(timed_ms(lambda: warm(grader, task, source)))
    return {
        "rounds": rounds,
        "fresh_p50_ms": statistics.median(fresh_ms),
        "warm_p50_ms": statistics.median(warm_ms),
        "warm_p95_ms": quantile(warm_ms, 0.95),
        "ratio": statistics.median(fresh_ms) / statistics.median(warm_ms),
    }


def fresh(order: Path) -> None:
    """Grade in a new Python, without any wall."""
    command = [sys.executable, str(FRESH), str(order)]
    subprocess.run(
        command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
    )


def warm(grader: Grader, task: Task, source: str) -> None:
    """Grade through the warm processes, behind their walls."""
    report = grader.grade(task, source, seed=new_seed())
    if report.verdict is not Verdict.PASSED:
        raise SystemExit(f"the right solution got {report.verdict}: {report.note}")


def through_http(source: str, *, rounds: int, data: Path) -> dict[str, float]:
    """From POST to the verdict in hand, one after the other; milliseconds."""
    took_ms = []
    with served(data) as address, httpx2.Client(base_url=address, timeout=60, trust_env=False) as client:
        client.headers["Authorization"] = f"Bearer {token(data)}"
        for round_ in range(rounds + 5):
            took = timed_ms(lambda: checked(client, source))
            if round_ >= 5:  # noqa: PLR2004  the first ones fill caches
                took_ms.append(took)
    return {"http_p50_ms": statistics.median(took_ms), "http_p95_ms": quantile(took_ms, 0.95)}


def checked(client: httpx2.Client, source: str) -> None:
    """Submit once and wait for the verdict."""
    posted = client.post("/api/v1/exercises/token-and-position-embeddings/submissions", json={"source": source})
    posted.raise_for_status()
    report = client.get(f"/api/v1/submissions/{posted.json()['id']}", params={"wait": 30}).json()
    if report.get("verdict") != "passed":
        raise SystemExit(f"the right solution got {report}")


@contextlib.contextmanager
def served(data: Path) -> Iterator[str]:
    """Run `kelolo serve` on a free port of the loopback; its address."""
    command = [KELOLO, "serve", "--data", str(data), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            yield ready_address(server)
        finally:
            server.terminate()
            server.wait(30)


def ready_address(server: "subprocess.Popen[str]") -> str:
    """Read the server's words until it says where it is."""
    assert server.stdout is not None  # noqa: S101  asked for above
    for line in server.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise SystemExit("the server ended before it was ready")


def token(data: Path) -> str:
    """Make a student and an API token."""
    kelolo = [KELOLO, "--data", str(data)]
    email = "latency@example.org"
    subprocess.run(
        [*kelolo, "user", "add", email, "--role", "student"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL
    )
    made = subprocess.run([*kelolo, "token", "create", email], check=True, cwd=ROOT, capture_output=True, text=True)
    return made.stdout.strip()


def timed_ms(call: Callable[[], None]) -> float:
    """How long a call takes."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def quantile(values: list[float], share: float) -> float:
    """The value below which this share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def described(figures: dict[str, float]) -> str:
    """The figures as a few lines."""
    return (
        f"one verdict, median of {figures['rounds']:.0f}, in turn\n"
        f"  fresh python, no wall      {figures['fresh_p50_ms']:8.1f} ms\n"
        f"  warm worker, all its walls {figures['warm_p50_ms']:8.1f} ms  (p95 {figures['warm_p95_ms']:.1f})\n"
        f"  ratio                      {figures['ratio']:8.1f}     (wanted: {WANTED_RATIO:.0f})\n"
        f"through HTTP, POST to verdict: p50 {figures['http_p50_ms']:.1f} ms, p95 {figures['http_p95_ms']:.1f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
