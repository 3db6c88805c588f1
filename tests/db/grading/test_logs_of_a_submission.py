"""One submission from the browser's request to its run, in the logs of a server and its worker."""

import json
import os
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import select

from app.cli import main
from app.db import Database
from app.models import GradingResult
from tests.db.cli.test_commands import EXERCISE, RIGHT, serving

NAME = "0f3c9a7e-from-the-proxy"


@pytest.mark.xdist_group("worker")
def test_submission_can_be_followed_through_the_logs_and_nothing_of_it_be_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Request, submission and run are named in the lines of both processes; code and token in none."""
    for name in [name for name in os.environ if name.startswith("KELOLO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KELOLO_LOG_FORMAT", "json")
    data = str(tmp_path / "data")
    with serving("--data", data, "--port", "0", "--workers", "1") as (_, address):
        main(["user", "add", "ada@example.org", "--role", "student", "--data", data])
        capfd.readouterr()
        main(["token", "create", "ada@example.org", "--data", data])
        token, err = capfd.readouterr()
        headers = {"Authorization": f"Bearer {token.strip()}", "X-Request-ID": NAME}
        with httpx2.Client(base_url=address, headers=headers, timeout=90) as client:
            sent = client.post(f"/api/v1/exercises/{EXERCISE}/submissions", json={"source": RIGHT}).json()["id"]
            assert client.get(f"/api/v1/submissions/{sent}", params={"wait": 60}).json()["verdict"] == "passed"
            figures = client.get("/metrics", headers={"X-Forwarded-For": ""}).status_code
            assert figures == 404  # through a proxy
            assert 'kelolo_verdicts_total{verdict="passed"} 1.0' in httpx2.get(f"{address}/metrics").text
    err += capfd.readouterr().err
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    (stored,) = [one for one in lines if one["event"] == "submission stored"]
    (graded,) = [one for one in lines if one["event"] == "graded"]
    assert stored["request"] == graded["request"] == NAME
    assert stored["submission"] == graded["submission"] == sent
    database = Database(f"sqlite:///{data}/kelolo.db")
    with database.read() as session:
        assert session.scalar(select(GradingResult.id)) == graded["run"]
    database.dispose()
    assert graded["verdict"] == "passed"
    for secret in ("token_emb", "nn.Embedding", token.strip()):
        assert secret not in err
