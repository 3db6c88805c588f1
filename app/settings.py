"""
What an operator can set, from the environment (`KELOLO_…`) or the command line.

Settings are built once, in `app.cli`, and passed down: nothing below reads the environment.
"""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretBytes, SecretStr, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
"""The repository, where templates, static files, migrations and exercises stand."""

_SECRETS = Path("/run/secrets")
"""Where containers find what must not stand in their environment: a file for each setting, such as kelolo_smtp_url."""

_SHORTEST_TOKEN = 16  # characters
_WIDEST_PROXIES = {4: 8, 6: 7}
"""By the version of IP: the fewest bits that the addresses of a network share. No private network is wider."""


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _sqlite_in_data(so_far: dict[str, Any]) -> str:
    return f"sqlite:///{_absolute(so_far['data']) / 'kelolo.db'}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _endpoint(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is never closed
        parts, is_whole = urlsplit(""), False
    if not is_whole or parts.query or parts.fragment:
        raise PydanticCustomError("endpoint", "give a whole address, such as http://127.0.0.1:11434/v1")
    if parts.username or parts.password:
        raise PydanticCustomError("endpoint", "a key does not belong into an address: give it as KELOLO_TUTOR_API_KEY")
    return address.rstrip("/")


def _site_address(address: str) -> str:
    if address and not address.startswith(("https://", "http://")):
        raise PydanticCustomError(
            "site_address",
            "begin with https:// (or http://, where there is no HTTPS), such as https://learn.example.org",
        )
    if address and not re.fullmatch(r"https?://[^\s/?#]+/?", address):
        raise PydanticCustomError(
            "site_address", "give the name of the site and no path after it, such as https://learn.example.org"
        )
    return address


def _proxies(listed: str) -> str:
    for one in listed.split(",") if listed.strip() else []:
        if one.strip() == "*":
            raise _everyone("*")
        try:
            network = ip_network(one.strip())
        except ValueError:
            raise PydanticCustomError(
                "proxies",
                "{one} is no address and no network: give such as 10.0.0.5 or 172.16.0.0/12, with commas between",
                {"one": f"“{one.strip()}”"},
            ) from None
        if network.prefixlen < _WIDEST_PROXIES[network.version]:
            raise _everyone(one.strip())
    return listed.strip()


def _everyone(one: str) -> PydanticCustomError:
    """Refuse to believe just anyone: clients would write themselves which address they come from."""
    return PydanticCustomError(
        "proxies_everyone",
        "{one} would have everyone believed, and clients would choose the address that limits count: give the address "
        "of the proxy, such as 127.0.0.1, or its own network, such as 172.16.0.0/12",
        {"one": f"“{one}”"},
    )


def _long_enough(token: SecretStr) -> SecretStr:
    if len(token.get_secret_value()) < _SHORTEST_TOKEN:
        raise PydanticCustomError(
            "token",
            "give at least {least} characters, such as `openssl rand -hex 24` prints",
            {"least": _SHORTEST_TOKEN},
        )
    return token


def _reachable(host: str) -> str:
    """Return the host as it stands in an address; for one that means all of this machine's, this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"  # noqa: PLR2004  the two versions of IP
    return f"[{host}]" if address.version == 6 else host  # noqa: PLR2004


class Settings(BaseSettings):
    """Everything that differs from one installation to the next. Frozen once built."""

    model_config = SettingsConfigDict(
        env_prefix="KELOLO_",
        env_ignore_empty=True,  # so that docker-compose.yml can take from workers what others are given
        frozen=True,
        extra="ignore",
        secrets_dir=_SECRETS if _SECRETS.is_dir() else None,
    )

    data: Path = Field(
        default=Path("data"),
        description="Folder for all that must last: the database, and the sockets by which processes wake each other.",
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
    streams_per_account: int = Field(
        default=4, ge=1, description="How many event streams an account may have open; one more closes the oldest."
    )
    streams_per_network: int = Field(
        default=32,
        ge=1,
        description="The same for a network: /24 of IPv4, /56 of IPv6. More for a class behind one address.",
    )
    guests_per_hour: int = Field(
        default=120,
        ge=1,
        description="How many new guests may come from a network in an hour. More for classes behind one address that "
        "work without accounts.",
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
    run_retention_days: int = Field(
        default=7,
        ge=1,
        description="Days after which runs (not checks) are removed, with what they have printed; what stands in the "
        "editor stays.",
    )
    runs_per_minute: int = Field(
        default=30, ge=1, description="How often an account of a guest or a student may have code run in a minute."
    )
    student_mib_per_day: int = Field(
        default=100,
        ge=1,
        le=2000,
        description="MiB that a student may have stored in a day: what is sent and what comes of it.",
    )
    guest_mib_per_day: int = Field(default=10, ge=1, le=2000, description="The same for a guest.")
    database_connections: int = Field(
        default=12,
        ge=2,
        description="PostgreSQL only: connections of one process at most, besides the one on which it listens.",
    )
    secret_key: Annotated[SecretStr, AfterValidator(_long_enough)] | None = Field(
        default=None,
        description="Key of the hashes by which networks and deleted accounts' addresses are known again, at least 16 "
        "characters and the same for all web servers. Without one, `secret.key` in the data folder has it.",
    )
    secure_cookies: bool = Field(
        default=False, description="Send cookies over HTTPS only. Turn on wherever there is HTTPS."
    )
    forwarded_allow_ips: Annotated[str, AfterValidator(_proxies)] = Field(
        default="",
        description="Proxies whose X-Forwarded-For and -Proto are believed: addresses or networks (172.16.0.0/12) with "
        "commas between. "
        "Without one, whoever connects is the client that rate limits count.",
    )
    public_url: Annotated[str, AfterValidator(_site_address)] = Field(
        default="",
        description="Where browsers find the site, such as https://learn.example.org: links in mails begin with it. "
        "http://HOST:PORT unless given.",
    )
    confirm_email: bool | None = Field(
        default=None,
        description="Whether an account begins only when its e-mail address is confirmed by a mailed link: where there "
        "is a mail server, unless given. Without it, signing up tells whether an address has an account.",
    )
    mail_from: str = Field(default="Kelolo <kelolo@localhost>", description="Sender of mails.")
    smtp_url: SecretStr = Field(
        default=SecretStr(""),
        description="Mail server: smtp://user:password@host:587?starttls=1, or smtps://… for TLS from the start. "
        "Without one, mails are put into the folder `outbox` in the data folder.",
    )
    oidc_issuer: str = Field(
        default="",
        description="OpenID Connect provider through which people may sign in: its address, just as it gives it.",
    )
    oidc_client_id: str = Field(default="", description="What that provider knows this site by.")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""),
        description="And its secret, if it has one. Its redirect URI is PUBLIC_URL/oidc/callback.",
    )
    oidc_title: str = Field(default="your organisation", description="How the button names that provider.")
    unsafe: bool = Field(
        default=False,
        description="Grade even where a wall round students' code is missing. Only on a loopback address.",
    )
    log_format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="How the log is written: console for eyes, json for machines; auto is console on a terminal only.",
    )
    metrics_token: Annotated[SecretStr, AfterValidator(_long_enough)] | None = Field(
        default=None,
        description="Bearer token that may read /metrics, at least 16 characters. "
        "Without one, only this machine may, and not through a proxy.",
    )
    exercises: Path = Field(
        default=ROOT / "exercises", description="Folder of courses that `kelolo serve` imports at start."
    )

    tutor_base_url: Annotated[str, AfterValidator(_endpoint)] | None = Field(
        default=None,
        description="Where an OpenAI-compatible model answers, such as http://127.0.0.1:11434/v1; none unless given.",
    )
    tutor_api_key: SecretStr | None = Field(default=None, description="The key of that model's provider, if any.")
    tutor_model: str = Field(
        default="", max_length=200, description="The model's name, as its provider writes it. Needed with a base URL."
    )
    tutor_first_token_s: float = Field(
        default=20.0, gt=0, le=600, description="Seconds until a hosted model's first word, retries included."
    )
    tutor_total_s: float = Field(
        default=90.0, gt=0, le=140, description="Seconds until a hosted model's whole answer is there."
    )
    tutor_answer_tokens: int = Field(
        default=800, ge=16, le=32_768, description="Tokens that an answer of a hosted model may have at most."
    )
    tutor_proxy: SecretStr | None = Field(
        default=None,
        description="URL of a proxy on the way to the hosted model; those of the environment are not used.",
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

    @model_validator(mode="after")
    def _hosted_model_has_a_name(self) -> Self:
        if self.tutor_base_url and not self.tutor_model:
            raise PydanticCustomError("tutor_model", "KELOLO_TUTOR_BASE_URL needs the name of the model to ask")
        return self

    @property
    def site_url(self) -> str:
        """Where browsers find the site, without a slash at the end. Nothing that a request says changes it."""
        return self.public_url.rstrip("/") or f"http://{_reachable(self.host)}:{self.port}"

    @property
    def confirms_email(self) -> bool:
        """Whether an account begins only when its e-mail address is confirmed."""
        return bool(self.smtp_url.get_secret_value()) if self.confirm_email is None else self.confirm_email

    @property
    def data_dir(self) -> Path:
        """The data folder as an absolute path, so that a later chdir changes nothing."""
        return _absolute(self.data)

    @property
    def outbox_dir(self) -> Path:
        """Where mails are put as long as there is no mail server."""
        return self.data_dir / "outbox"

    def environment(self) -> dict[str, str]:
        """
        Return the variables from which a child process builds these same settings, but for the secrets.

        Students' code runs below the worker, which has no use for any of them. So no setting of a secret type is
        in here, whatever it is called.
        """
        values = self.model_dump(mode="json", exclude=_secrets(), exclude_none=True) | {"data": str(self.data_dir)}
        return {_variable(name): str(value) for name, value in values.items()}

    def worker_environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return a worker's whole environment: what we have `inherited`, our settings, and no secret of either."""
        secret = {_variable(name) for name in _secrets()}
        kept = {name: value for name, value in inherited.items() if name.upper() not in secret}
        return kept | self.environment()


def _variable(name: str) -> str:
    return f"KELOLO_{name.upper()}"


def _secrets() -> set[str]:
    """Return the names of the settings that are secret, set or not: those of pydantic's secret types."""
    return {name for name, field in Settings.model_fields.items() if _is_secret(field.annotation)}


def _is_secret(annotation: object) -> bool:
    inside = get_args(annotation)
    return annotation in {SecretStr, SecretBytes} or any(_is_secret(part) for part in inside)
