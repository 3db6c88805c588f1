"""
What an operator can set, from the environment (`KELOLO_…`) or the command line.

Settings are built once, in `app.cli`, and passed down: nothing below reads the environment.
"""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
"""The repository, where templates, static files, migrations and exercises stand."""


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _sqlite_in_data(so_far: dict[str, Any]) -> str:
    return f"sqlite:///{_absolute(so_far['data']) / 'kelolo.db'}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Settings(BaseSettings):
    """Everything that differs from one installation to the next. Frozen once built."""

    model_config = SettingsConfigDict(env_prefix="KELOLO_", frozen=True, extra="ignore")

    data: Path = Field(
        default=Path("data"),
        description="Folder for all that must last: the database, and the bells between processes.",
    )
    database_url: str = Field(
        default_factory=_sqlite_in_data,
        description="SQLAlchemy URL; SQLite in the data folder unless given. PostgreSQL: postgresql://…",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    workers: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=256,
        description="How many submissions are graded at once; one for each core unless given.",
    )
    queue_limit: int = Field(
        default=200, ge=1, description="How many submissions may wait before new ones get status 503."
    )
    lease_s: float = Field(
        default=30.0,
        gt=0,
        description="Seconds until a job whose worker fell silent is given to another.",
    )
    rescue_every_s: float = Field(
        default=3.0, gt=0, description="PostgreSQL only: seconds between two looks for jobs whose worker is gone."
    )
    keep_jobs_h: int = Field(
        default=24,
        ge=0,
        description="PostgreSQL only: hours for which procrastinate keeps jobs that are done. Verdicts stay for ever.",
    )
    database_connections: int = Field(
        default=12,
        ge=2,
        description="PostgreSQL only: connections of one process at most, besides the one on which it listens.",
    )
    secure_cookies: bool = Field(
        default=False, description="Send cookies over HTTPS only. Turn on wherever there is HTTPS."
    )
    unsafe: bool = Field(
        default=False,
        description="Grade even where a wall round students' code is missing. Only on a loopback address.",
    )
    exercises: Path = Field(
        default=ROOT / "exercises", description="Folder of courses that `kelolo serve` imports at start."
    )

    @model_validator(mode="after")
    def _unsafe_only_for_oneself(self) -> Self:
        if self.unsafe and not _is_loopback(self.host):
            raise PydanticCustomError(
                "unsafe",
                "students' code may run without walls only where nobody else can send any: on a loopback address, "
                "such as 127.0.0.1, not on {host}",
                {"host": self.host},
            )
        return self

    @property
    def data_dir(self) -> Path:
        """The data folder as an absolute path, so that a later chdir changes nothing."""
        return _absolute(self.data)

    def environment(self) -> dict[str, str]:
        """Return the variables from which a child process builds these same settings."""
        values = self.model_dump(mode="json") | {"data": str(self.data_dir)}
        return {f"KELOLO_{name.upper()}": str(value) for name, value in values.items()}
