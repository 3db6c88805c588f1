"""Letters reach a real mail server, or the folder that stands in for one; and hold no more than one letter."""

import socket
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from app.clients.mail import Mail, MailFailed, MailMisconfigured, OutboxMailer, SmtpMailer, read_smtp_url

SENDER = "Kelolo <kelolo@example.org>"
LETTER = Mail(to="ada@example.org", subject="Grüße", text="Open this:\n\nhttps://learn.example.org/reset/a\n")


class Server:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        """Begin with none."""
        self.letters: list[tuple[list[str], EmailMessage]] = []
        self.refuses = False

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:  # noqa: ANN401, N802
        """Take an addressee, or do not."""
        if self.refuses:
            return "550 nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: ANN401, N802
        """Take a letter."""
        letter = message_from_bytes(envelope.content, policy=default)
        assert isinstance(letter, EmailMessage)
        self.letters.append((envelope.rcpt_tos, letter))
        return "250 OK"


def let_in(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: LoginPassword) -> AuthResult:  # noqa: ANN401
    """Know one user, and answer all others with 535."""
    return AuthResult(success=(data.login, data.password) == (b"post", b"a/b@c"), handled=False)


@pytest.fixture
def server() -> Iterator[tuple[Server, int]]:
    """Start a mail server on loopback."""
    kept = Server()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    controller = Controller(
        kept, hostname="127.0.0.1", port=port, authenticator=let_in, auth_require_tls=False, auth_exclude_mechanism=[]
    )
    controller.start()
    yield kept, port
    controller.stop()


def test_letter_reaches_its_addressee(server: tuple[Server, int]) -> None:
    """With the user and the password of the address, and characters of every language."""
    kept, port = server
    mailer = SmtpMailer(read_smtp_url(f"smtp://post:a%2Fb%40c@127.0.0.1:{port}"), sender=SENDER)
    mailer.send([LETTER, LETTER])
    (addressees, letter), _ = kept.letters
    assert addressees == ["ada@example.org"]
    assert (letter["From"], letter["To"], letter["Subject"]) == (SENDER, "ada@example.org", "Grüße")
    assert "https://learn.example.org/reset/a" in letter.get_content()


@pytest.mark.parametrize("login", ["post:wrong@", ""])
def test_server_that_refuses_is_reported_in_a_sentence(server: tuple[Server, int], login: str) -> None:
    """And what it refused is in the log without the addressee."""
    kept, port = server
    kept.refuses = True
    with pytest.raises(MailFailed, match="try again later"):
        SmtpMailer(read_smtp_url(f"smtp://{login}127.0.0.1:{port}"), sender=SENDER).send([LETTER])


def test_server_that_is_away_is_reported_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the address nor the link are in the log."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(MailFailed):
        SmtpMailer(read_smtp_url(f"smtp://127.0.0.1:{port}"), sender=SENDER).send([LETTER])
    said = "".join(capsys.readouterr())
    assert "mail_failed" in said
    assert "ada@" not in said
    assert "/reset/" not in said


def test_no_password_goes_over_a_line_that_was_to_be_encrypted(server: tuple[Server, int]) -> None:
    """A server without STARTTLS is refused where STARTTLS is asked for."""
    kept, port = server
    with pytest.raises(MailFailed):
        SmtpMailer(read_smtp_url(f"smtp://post:x@127.0.0.1:{port}?starttls=1"), sender=SENDER).send([LETTER])
    assert kept.letters == []


def test_outbox_is_closed_to_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever can read a letter can use the link in it; and the log does not give it away."""
    OutboxMailer(tmp_path / "outbox", sender=SENDER).send([LETTER])
    (file,) = (tmp_path / "outbox").glob("*.eml")
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "outbox").stat().st_mode & 0o777 == 0o700
    assert b"/reset/a" in file.read_bytes()
    said = "".join(capsys.readouterr())
    assert file.name in said
    assert "/reset/" not in said


@pytest.mark.parametrize(
    "to", ["ada@example.org\nBcc: all@example.org", "ada@example.org, eve@example.org", "Ada <ada@example.org>", ""]
)
def test_letter_goes_to_one_addressee(server: tuple[Server, int], tmp_path: Path, to: str) -> None:
    """Whatever an address is made to look like, it adds neither a header nor an addressee."""
    kept, port = server
    letter = Mail(to=to, subject="s", text="t")
    for mailer in (
        SmtpMailer(read_smtp_url(f"smtp://127.0.0.1:{port}"), sender=SENDER),
        OutboxMailer(tmp_path, sender=SENDER),
    ):
        with pytest.raises(MailFailed):
            mailer.send([letter])
    assert kept.letters == []


@pytest.mark.parametrize("url", ["http://a", "smtp:", "mail.example.org:25", "smtp://", "smtp://a:b@c:port"])
def test_what_is_no_mail_server_is_refused(url: str) -> None:
    """The sentence shows what one looks like."""
    with pytest.raises(MailMisconfigured, match="smtp://user:password@host"):
        read_smtp_url(url)
