"""SandboxLayers that a machine lacks, or only pretends to have, are found out before any student's code runs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from app.settings import ROOT

# Each starts torch in several processes: one after the other is quicker.
pytestmark = pytest.mark.xdist_group("other-machines")

MACHINE = Path(__file__).with_name("machine.py")
KELOLO = str(Path(sys.executable).with_name("kelolo"))
NO_LANDLOCK = json.dumps({"landlock_create_ruleset": 38})
NO_SECCOMP_BUT_SAYS_SO = json.dumps({"prctl": 0})
PATIENCE_S = 120.0


def on(machine: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run `kelolo` there, to its end."""
    whole = [sys.executable, str(MACHINE), machine, KELOLO, *command]
    return subprocess.run(whole, check=False, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT)


@contextmanager
def served(machine: str, data: Path) -> Iterator[httpx2.Client]:
    """Run `kelolo serve --unsafe` there."""
    command = [KELOLO, "serve", "--unsafe", "--port", "0", "--workers", "1", "--data", str(data)]
    with subprocess.Popen(
        [sys.executable, str(MACHINE), machine, *command], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ
    ) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found
        try:
            with httpx2.Client(base_url=found[0], timeout=PATIENCE_S, trust_env=False) as client:
                yield client
        finally:
            server.terminate()
            server.wait(PATIENCE_S)


@pytest.mark.parametrize("command", [["sandbox"], ["serve", "--port", "0"]])
def test_machine_without_landlock_is_refused(command: list[str], tmp_path: Path) -> None:
    """The sentence names what is missing and what to do."""
    ended = on(NO_LANDLOCK, *command, "--data", str(tmp_path))
    assert ended.returncode == 2
    assert "Landlock switched on" in ended.stderr


def test_machine_without_landlock_serves_its_owner_with_unsafe(tmp_path: Path, solution: str) -> None:
    """With `--unsafe` all goes its way behind the walls that are left, and `/readyz` says which is missing."""
    with served(NO_LANDLOCK, tmp_path) as client:
        client.get("/exercises/token-and-position-embeddings")  # makes a guest
        sent = client.post("/api/v1/exercises/token-and-position-embeddings/submissions", json={"source": solution})
        report = client.get(f"/api/v1/submissions/{sent.json()['id']}?wait=60").json()
        walls = {(one["wall"], one["deed"]): one["state"] for one in client.get("/readyz").json()["walls"]}
    assert report["verdict"] == "passed"
    assert walls["Landlock", "list the root folder"] == "missing"
    assert walls["seccomp", "open a socket"] == "holds"


def test_unsafe_is_for_oneself_alone(tmp_path: Path) -> None:
    """Where others can send code, nothing is graded without walls."""
    ended = on("{}", "serve", "--unsafe", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path))  # noqa: S104
    assert ended.returncode == 2
    assert "loopback" in ended.stderr


def test_wall_that_is_only_said_to_hold_is_found_out(tmp_path: Path) -> None:
    """A kernel that says yes to the filter and does nothing is noticed by trying, and the server ends."""
    ended = on(NO_SECCOMP_BUT_SAYS_SO, "serve", "--port", "0", "--workers", "1", "--data", str(tmp_path))
    assert ended.returncode == 2
    assert "open a socket" in ended.stderr
    assert "did not hold" in ended.stderr


def test_container_with_dockers_profile_has_all_walls_but_namespaces() -> None:
    """What Docker's default profile refuses, no required wall needs."""
    ended = on('"docker"', "sandbox", "--json")
    assert ended.returncode == 0, ended.stderr
    states = {(one["wall"], one["deed"]): one["state"] for one in json.loads(ended.stdout)}
    assert {wall for (wall, _), state in states.items() if state != "holds"} <= {"namespaces", "user"}
    assert states["namespaces", "be in the machine's process namespace"] == "not needed"


def test_unsafe_is_for_a_database_of_ones_own(tmp_path: Path) -> None:
    """Through a shared one, code of others would be graded without walls."""
    environment = os.environ | {"KELOLO_DATABASE_URL": "postgresql://127.0.0.1:1/kelolo"}
    command = [KELOLO, "serve", "--unsafe", "--port", "0", "--data", str(tmp_path)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert ended.returncode == 2
    assert "SQLite" in ended.stderr
