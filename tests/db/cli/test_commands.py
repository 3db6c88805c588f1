"""The command line does what it says, in a script as on a terminal, and says what is wrong."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr

from app import logs
from app.cli import main
from app.cli.serve import first_admin_link, warn_of_unsent_emails
from app.db import Database
from app.main import build_site
from app.services import audit
from app.services.accounts.access import access_by_bearer, account_for_link
from app.services.audit import AuditFilter
from app.settings import ROOT, Settings

EXERCISE = "token-and-position-embeddings"
RIGHT = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with a migrated database; nothing of the environment interferes."""
    for name in [name for name in os.environ if name.startswith("KELOLO_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "data"
    assert main(["migrate", "--data", str(folder)]) == 0
    return folder


def test_migrating_twice_is_harmless(data: Path) -> None:
    """The second time there is nothing to do."""
    assert main(["migrate", "--data", str(data)]) == 0


def test_database_is_closed_to_other_users(data: Path) -> None:
    """Others may neither list the data folder nor read the database."""
    assert data.stat().st_mode & 0o077 == 0o011
    assert (data / "kelolo.db").stat().st_mode & 0o077 == 0


def test_token_is_printed_alone_and_works(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script can take what is printed as it is."""
    main(["user", "add", "Ada@example.org", "--role", "instructor", "--data", str(data)])
    assert capsys.readouterr().out.endswith("ada@example.org is an instructor.\n")
    assert main(["token", "create", "ada@example.org", "--data", str(data)]) == 0
    token = capsys.readouterr().out
    assert token == f"{token.strip()}\n"
    with Database(f"sqlite:///{data}/kelolo.db").read() as session:
        access = access_by_bearer(session, token.strip())
    assert access is not None
    assert access.account.email == "ada@example.org"


@pytest.mark.parametrize(
    ("role", "more", "scopes"),
    [
        ("student", [], {"read", "write"}),
        ("admin", [], {"read", "write", "admin"}),
        ("admin", ["--scopes", "read", "--days", "7"], {"read"}),
    ],
)
def test_token_has_the_scopes_that_are_of_use(
    data: Path, capsys: pytest.CaptureFixture[str], role: str, more: list[str], scopes: set[str]
) -> None:
    """All that the account can use, or those that are named; and it may expire."""
    main(["user", "add", "ada@example.org", "--role", role, "--data", str(data)])
    capsys.readouterr()
    assert main(["token", "create", "ada@example.org", *more, "--data", str(data)]) == 0
    with Database(f"sqlite:///{data}/kelolo.db").read() as session:
        access = access_by_bearer(session, capsys.readouterr().out.strip())
    assert access is not None
    assert access.token is not None
    assert access.scopes == scopes
    assert (access.token.expires_at is not None) == bool(more)


@pytest.mark.parametrize("more", [["--scopes", "root"], ["--scopes", ""], ["--days", "0"], ["--days", "99999"]])
def test_token_that_cannot_be_is_refused(data: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    """With a sentence that says which there are."""
    main(["user", "add", "ada@example.org", "--role", "student", "--data", str(data)])
    assert main(["token", "create", "ada@example.org", *more, "--data", str(data)]) == 2
    assert "A token" in capsys.readouterr().err


def test_console_prints_the_first_link_while_there_is_no_administrator(data: Path) -> None:
    """A new one with each start, which only this process knows."""
    settings = Settings(data=data, port=1234)
    links = [first_admin_link(build_site(settings)) for _ in range(2)]
    assert all(link and link.startswith("http://127.0.0.1:1234/first-admin/") for link in links)
    assert links[0] != links[1]
    main(["user", "add", "root@example.org", "--role", "admin", "--data", str(data)])
    assert first_admin_link(build_site(settings)) is None


@pytest.mark.parametrize(
    ("confirm_email", "smtp_url", "warned"),
    [(True, "", True), (True, "smtp://mail.example.org", False), (False, "", False)],
)
def test_start_warns_where_nobody_can_confirm_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, confirm_email: bool, smtp_url: str, warned: bool
) -> None:
    """Letters with the links would lie in a folder that nobody looks into."""
    logs.configure("json")
    warn_of_unsent_emails(Settings(data=tmp_path, confirm_email=confirm_email, smtp_url=SecretStr(smtp_url)))
    said = capsys.readouterr().err
    assert ("warning" in said and "KELOLO_SMTP_URL" in said and str(tmp_path / "outbox") in said) is warned


def test_adding_somebody_says_how_they_sign_in(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The account has no password yet."""
    capsys.readouterr()
    main(["user", "add", "ada@example.org", "--role", "admin", "--data", str(data)])
    told = capsys.readouterr()
    assert told.out == "ada@example.org is an admin.\n"
    assert "kelolo user link ada@example.org" in told.err


@pytest.mark.parametrize("command", [("user", "link"), ("token", "create")])
def test_account_that_is_not_there_is_called_so(
    data: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, str]
) -> None:
    """Not in the words of a page: a terminal has no contents to start from."""
    capsys.readouterr()
    assert main([*command, "nobody@example.org", "--data", str(data)]) == 2
    assert capsys.readouterr().err == "There is no account called “nobody@example.org” here.\n"


def test_refused_setting_is_called_by_its_variable(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no argument --public_url; --port there is."""
    monkeypatch.setenv("KELOLO_PUBLIC_URL", "learn.example.org")
    monkeypatch.setenv("KELOLO_PORT", "70000")
    capsys.readouterr()
    assert main(["migrate", "--data", str(data)]) == 2
    port, address = capsys.readouterr().err.splitlines()
    assert port.startswith("--port or KELOLO_PORT: ")
    assert address.startswith("KELOLO_PUBLIC_URL: begin with https://")


def test_sign_in_link_is_printed_alone_and_works(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An administrator gets in with it before there is any password."""
    main(["user", "add", "ada@example.org", "--role", "admin", "--data", str(data)])
    capsys.readouterr()
    assert main(["user", "link", "ada@example.org", "--data", str(data)]) == 0
    address = capsys.readouterr().out
    assert address.startswith("http://127.0.0.1:8000/sign-in/")
    with Database(f"sqlite:///{data / 'kelolo.db'}").read() as session:
        assert account_for_link(session, address.strip().rpartition("/")[2]).email == "ada@example.org"


def test_data_folder_may_be_named_anywhere_or_in_the_environment(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the command, after it, or as KELOLO_DATA: it is the same folder."""
    main(["--data", str(data), "user", "add", "ada@example.org", "--role", "student"])
    monkeypatch.setenv("KELOLO_DATA", str(data))
    assert main(["token", "create", "ada@example.org"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("kel_")


def test_plan_is_listed_and_given(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what each plan allows; the audit log says that it came from the command line."""
    main(["user", "add", "ada@example.org", "--role", "student", "--data", str(data)])
    capsys.readouterr()
    assert main(["plan", "list", "--data", str(data)]) == 0
    assert "free\t30 tutor messages, ever; 600 checks a minute\n" in capsys.readouterr().out
    assert main(["plan", "set", "Ada@example.org", "pro", "--days", "30", "--data", str(data)]) == 0
    assert capsys.readouterr().out.startswith("ada@example.org has the PRO plan until ")
    assert main(["plan", "set", "ada@example.org", "free", "--data", str(data)]) == 0
    assert capsys.readouterr().out == "ada@example.org has the Free plan without end.\n"
    with Database(f"sqlite:///{data / 'kelolo.db'}").read() as session:
        entries = audit.search(session, AuditFilter(action="user.plan"), limit=5)
    assert [entry.actor for entry in entries] == ["command line", "command line"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plan", "set", "nobody@example.org", "pro"], "no account called “nobody@example.org”"),
        (["user", "add", "ada", "--role", "student"], "“ada” is not an e-mail address"),
        (["token", "create", "nobody@example.org"], "no account called “nobody@example.org”"),
        (["import", "/nonexistent"], "no course in /nonexistent"),
        (["worker", "--workers", "0"], "--workers or KELOLO_WORKERS"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    data: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, and there is no traceback."""
    assert main([*arguments, "--data", str(data)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_database_that_cannot_be_reached_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most often the address is wrong, or the server is not running."""
    monkeypatch.setenv("KELOLO_DATABASE_URL", "postgresql://127.0.0.1:1/kelolo")
    assert main(["migrate"]) == 2
    assert capsys.readouterr().err.startswith("The database cannot be used: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["user", "add", "a@b.org", "--role", "guest"],
        ["plan", "set", "a@b.org", "pro", "--days", "0"],
        ["--data"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As for every command line: the usage is shown."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: kelolo" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["web"], ["worker"], ["user", "add", "a@b.org", "--role", "student"]])
def test_command_refuses_a_database_without_tables(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what to run first."""
    assert main([*command, "--data", str(tmp_path / "new")]) == 2
    assert "kelolo migrate" in capsys.readouterr().err


def test_course_is_imported_from_its_own_or_its_parents_folder(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second import finds nothing new."""
    for folder, news in (
        (ROOT / "exercises", f"new versions of {EXERCISE}"),
        (ROOT / "exercises" / "embeddings", "nothing new"),
    ):
        assert main(["import", str(folder), "--data", str(data)]) == 0
        assert news in capsys.readouterr().out


def test_backup_and_restore_say_what_they_have_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what they have not, in a sentence."""
    data, file = str(tmp_path / "data"), str(tmp_path / "kelolo.backup")
    assert main(["backup", file, "--data", data]) == 2
    assert "There is no database" in capsys.readouterr().err
    kelolo = Path(sys.executable).with_name("kelolo")  # by itself, or the database would still be open in here
    subprocess.run([kelolo, "migrate", "--data", data], check=True)
    subprocess.run([kelolo, "user", "add", "ada@example.org", "--role", "student", "--data", data], check=True)
    assert main(["backup", file, "--data", data]) == 0
    assert "checked" in capsys.readouterr().out
    assert main(["restore", file, "--data", data]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["restore", file, "--data", data, "--force"]) == 0
    assert "is kept as" in capsys.readouterr().out
    Path(f"{file}.sha256").unlink()
    assert main(["restore", file, "--data", str(tmp_path / "new")]) == 0
    assert "was not compared" in capsys.readouterr().err
    capsys.readouterr()
    assert main(["token", "create", "ada@example.org", "--data", str(tmp_path / "new")]) == 0


@contextmanager
def serving(*arguments: str, command: str = "serve") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `kelolo serve`, or another command, and give the process and the address that it announces."""
    kelolo = Path(sys.executable).with_name("kelolo")
    server = subprocess.Popen([kelolo, command, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.fullmatch(r"Kelolo is ready on (http://127\.0\.0\.1:\d+)\n", line)
        assert found, line
        yield server, found[1]
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.xdist_group("worker")
def test_serve_grades_over_http_from_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One command makes the database, takes in the exercises, serves and grades; SIGTERM ends it well."""
    data = str(tmp_path / "new")
    with serving("--data", data, "--port", "0", "--workers", "1") as (server, address):
        main(["user", "add", "ada@example.org", "--role", "student", "--data", data])
        capsys.readouterr()
        main(["token", "create", "ada@example.org", "--data", data])
        bearer = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
        with httpx2.Client(base_url=address, headers=bearer, timeout=90) as client:
            sent = client.post(f"/api/v1/exercises/{EXERCISE}/submissions", json={"source": RIGHT})
            assert sent.status_code == 202
            report = client.get(f"/api/v1/submissions/{sent.json()['id']}", params={"wait": 60}).json()
        assert report["verdict"] == "passed"
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


def test_web_ends_in_time_though_a_request_waits_for_the_database(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever stops it kills it after ten seconds as a rule; a thread that hangs does not keep it until then."""
    main(["import", str(ROOT / "exercises" / "embeddings"), "--data", str(data)])
    main(["user", "add", "ada@example.org", "--role", "student", "--data", str(data)])
    capsys.readouterr()
    main(["token", "create", "ada@example.org", "--data", str(data)])
    bearer = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
    with serving("--data", str(data), "--port", "0", command="web") as (server, address):
        with sqlite3.connect(data / "kelolo.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")  # the request has to wait for its end
            request = f"{address}/api/v1/exercises/{EXERCISE}/submissions"
            with httpx2.Client(headers=bearer, timeout=0.5) as client, pytest.raises(httpx2.TimeoutException):
                client.post(request, json={"source": RIGHT})
            asked_s = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0
        assert time.monotonic() - asked_s < 9.5


def test_serve_says_when_the_port_is_taken(tmp_path: Path) -> None:
    """And what to do about it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        kelolo = Path(sys.executable).with_name("kelolo")
        tried = subprocess.run(
            [kelolo, "serve", "--data", tmp_path, "--port", port], capture_output=True, text=True, check=False
        )
    assert tried.returncode == 2
    assert "Choose another port with --port" in tried.stderr
