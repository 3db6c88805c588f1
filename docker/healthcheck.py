"""
Is the container well? Exit code 0 if so; for `HEALTHCHECK`, where there is no curl.

    python3 docker/healthcheck.py web|worker

A web server is asked. A worker has nothing that could be asked: each time it has told the database that it is there, it
touches the lock beside its scratch folder, so that lock must be fresh.
"""

import os
import sys
import time
import urllib.request
from pathlib import Path

PATIENCE_S = 3.0
SILENT_AFTER_S = 60.0


def web_is_well(port: str) -> bool:
    """Ask it."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_S) as answer:
        return bool(answer.status == 200)  # noqa: PLR2004


def worker_is_well(data: Path) -> bool:
    """Look when it was last able to say that it is there."""
    newest = max((path.stat().st_mtime for path in (data / "scratch").glob("*.lock")), default=0.0)
    return time.time() - newest < SILENT_AFTER_S


def main() -> int:
    """Look, and say in a word what is wrong."""
    try:
        if sys.argv[1:] == ["worker"]:
            well = worker_is_well(Path(os.environ.get("KELOLO_DATA", "data")))
        else:
            well = web_is_well(os.environ.get("KELOLO_PORT", "8000"))
    except OSError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
