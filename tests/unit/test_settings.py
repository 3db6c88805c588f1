"""Settings: what may be set, and what of it a worker gets, below which students' code runs."""

import os
import time
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from app.settings import Settings
from app.worker.supervisor import Supervisor

KEY = "sk-of-the-provider"
HOSTED = {"tutor_base_url": "https://models.example.org/v1", "tutor_model": "some-model"}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings that hold secrets, most of them from variables as an operator would give them."""
    monkeypatch.setenv("KELOLO_TUTOR_API_KEY", KEY)
    monkeypatch.setenv("kelolo_tutor_proxy", f"http://user:{KEY}@proxy.example.org")
    return Settings(data=tmp_path, queue_limit=7, **HOSTED)  # type: ignore[arg-type]  # all of them text


def test_variables_in_any_case_are_read(settings: Settings) -> None:
    """A setting is found whatever the case of its variable, so the next tests hold for all of them."""
    assert settings.tutor_api_key == SecretStr(KEY)
    assert settings.tutor_proxy is not None


def test_child_builds_the_same_settings_without_secrets(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a child process is told gives the same settings again, except that nothing secret is in them."""
    told = settings.environment()
    monkeypatch.delenv("KELOLO_TUTOR_API_KEY")
    monkeypatch.delenv("kelolo_tutor_proxy")
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings.model_copy(update={"tutor_api_key": None, "tutor_proxy": None})


def test_setting_that_is_not_set_stays_so(tmp_path: Path) -> None:
    """None is told by leaving it out, not as a word."""
    assert "None" not in Settings(data=tmp_path).environment().values()


def test_worker_environment_holds_no_secret(settings: Settings) -> None:
    """Neither by our own settings nor by what we have inherited does a secret reach a worker."""
    environment = settings.worker_environment(os.environ)
    assert KEY not in "\n".join(environment.values())
    assert environment["KELOLO_QUEUE_LIMIT"] == "7"
    assert environment["PATH"] == os.environ["PATH"]


def environment_of(pid: int) -> str:
    """Return the environment of a process, which is empty for a moment while it is being started."""
    deadline_s = time.monotonic() + 10
    while not (found := Path(f"/proc/{pid}/environ").read_text(encoding="utf-8")):
        assert time.monotonic() < deadline_s
        time.sleep(0.005)
    return found


def test_worker_process_holds_no_secret(settings: Settings) -> None:
    """The process that is really started has an environment in which no secret stands."""
    worker = Supervisor(settings)._start()  # noqa: SLF001  # the one place where it is made
    try:
        environment = environment_of(worker.pid)
    finally:
        worker.kill()
        worker.wait()
    assert f"KELOLO_DATA={settings.data_dir}" in environment.split("\0")
    assert KEY not in environment


def test_settings_do_not_show_their_secrets(settings: Settings) -> None:
    """Whoever prints or logs the settings shows stars."""
    assert KEY not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    "address",
    [
        "models.example.org/v1",
        "ftp://models.example.org",
        "http://",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://h/?a=b",
    ],
)
def test_address_of_a_model_must_be_whole(address: str) -> None:
    """A base URL that cannot be asked is refused at start."""
    with pytest.raises(ValidationError, match="whole address"):
        Settings(tutor_base_url=address, tutor_model="some-model")


def test_key_in_the_address_is_refused() -> None:
    """A name and password in the base URL would end up in logs and in the worker's environment."""
    with pytest.raises(ValidationError, match="KELOLO_TUTOR_API_KEY"):
        Settings(tutor_base_url=f"https://me:{KEY}@models.example.org/v1", tutor_model="some-model")


def test_hosted_model_needs_a_name() -> None:
    """A base URL alone is not enough to ask a model."""
    with pytest.raises(ValidationError, match="tutor_model"):
        Settings(tutor_base_url="https://models.example.org/v1")


def test_empty_variable_is_as_if_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the compose file takes from workers what their site's file of settings gives."""
    monkeypatch.setenv("KELOLO_METRICS_TOKEN", "")
    monkeypatch.setenv("KELOLO_SMTP_URL", "")
    assert Settings().metrics_token is None
    assert Settings().smtp_url.get_secret_value() == ""


@pytest.mark.parametrize("listed", ["", "10.0.0.5", "10.0.0.5, 172.16.0.0/12", "::1,fd00::/8"])
def test_proxies_are_addresses_or_networks(listed: str) -> None:
    """Or none."""
    assert Settings(forwarded_allow_ips=listed).forwarded_allow_ips == listed


@pytest.mark.parametrize("listed", ["nginx", "10.0.0.5,", "10.0.0.1/8", "10.0.0.5 10.0.0.6"])
def test_proxy_that_would_never_be_believed_is_refused(listed: str) -> None:
    """The server would take it for a name that no peer has, and say nothing."""
    with pytest.raises(ValidationError, match="is no address and no network"):
        Settings(forwarded_allow_ips=listed)


@pytest.mark.parametrize(
    "listed", ["*", "*,10.0.0.5", "0.0.0.0/0", "::/0", "10.0.0.5, 0.0.0.0/1,128.0.0.0/1", "8000::/1"]
)
def test_not_just_anyone_is_believed(listed: str) -> None:
    """Whoever believes all peers believes what a client has written, and limits then count what it likes."""
    with pytest.raises(ValidationError, match="would have everyone believed"):
        Settings(forwarded_allow_ips=listed)


@pytest.mark.parametrize(
    ("address", "said"), [("learn.example.org", "begin with https://"), ("https://example.org/learn", "no path")]
)
def test_public_address_that_cannot_be_is_refused_in_words(address: str, said: str) -> None:
    """Not by a regular expression."""
    with pytest.raises(ValidationError, match=said):
        Settings(public_url=address)


def test_short_token_for_metrics_is_refused_and_not_shown() -> None:
    """It says how long it must be."""
    with pytest.raises(ValidationError, match="at least 16 characters") as refused:
        Settings(metrics_token=SecretStr("short-one"))
    assert "short-one" not in str(refused.value)
