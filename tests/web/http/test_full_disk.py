"""A full disk is told as such, and takes nothing of what was stored."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings

EXERCISE = "/api/v1/exercises/token-and-position-embeddings"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """Use up what room there is."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def test_full_disk_is_told_as_a_problem_and_nothing_is_lost(course_template: Path, small_disk: Path) -> None:
    """What cannot be stored is refused with a sentence; when there is room again, all goes on."""
    shutil.copyfile(course_template, small_disk / "kelolo.db")
    with TestClient(
        create_app(Settings(data=small_disk)), follow_redirects=False, raise_server_exceptions=False
    ) as client:
        client.get("/exercises/token-and-position-embeddings")  # makes a guest
        filler = fill(small_disk)
        answers = [client.post(f"{EXERCISE}/submissions", json={"source": "x" * 60_000}) for _ in range(3)]
        filler.unlink()
        assert {answer.status_code for answer in answers} <= {202, 507}
        full = [answer for answer in answers if answer.status_code == 507]
        assert full
        assert full[0].headers["content-type"] == "application/problem+json"
        assert "disk of this server is full" in full[0].json()["detail"]
        assert client.post(f"{EXERCISE}/submissions", json={"source": "x = 1"}).status_code == 202
