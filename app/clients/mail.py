"""
Sending mail: by SMTP where a server is set, and otherwise into a folder, where whoever runs the site finds it.

Mail is sent after the transaction that gave rise to it is over, and never within one: a mail server may take
its time, and what it has taken cannot be undone.
"""

import os
import smtplib
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid, parseaddr
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import structlog

from app.clock import utc_now
from app.errors import AppError

log = structlog.get_logger()

TIMEOUT_S = 20
_SMTP_URL = "KELOLO_SMTP_URL: write smtp://user:password@host:587?starttls=1, or smtps://… for TLS from the start."


class MailFailed(AppError):
    """The mail server cannot be reached, or does not take the mail."""

    status = 503
    title = "The mail could not be sent"
    message = "The mail could not be sent. Please try again later, or tell whoever runs this site."


class MailMisconfigured(AppError):
    """A setting about mail has a value that it cannot have; found at the start, not with the first e-mail."""

    title = "That setting cannot be used"
    message = "{problem}"


@dataclass(frozen=True)
class Mail:
    """An e-mail in plain text to one person."""

    to: str
    subject: str
    text: str


class Mailer(Protocol):
    """Whatever sends e-mails."""

    def send(self, mails: Iterable[Mail]) -> None:
        """Send e-mails. Raises MailFailed; the log says why."""
        ...


@dataclass(frozen=True)
class SmtpServer:
    """A mail server, and how to talk to it."""

    host: str
    port: int
    user: str
    password: str
    tls: bool
    """From the first byte on: `smtps://`."""
    starttls: bool
    """After the greeting; refused if the server cannot."""


def read_smtp_url(url: str) -> SmtpServer:
    """Read `smtp://user:password@host:587?starttls=1`. Raises MailMisconfigured, which does not repeat it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise MailMisconfigured(problem=_SMTP_URL) from None
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise MailMisconfigured(problem=_SMTP_URL)
    tls = parts.scheme == "smtps"
    return SmtpServer(
        host=parts.hostname,
        port=port or (465 if tls else 587),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=tls,
        starttls=parse_qs(parts.query).get("starttls", ["0"])[-1].lower() in {"1", "true", "yes"},
    )


class SmtpMailer:
    """Hands e-mails to a mail server, all over one connection."""

    def __init__(self, server: SmtpServer, *, sender: str) -> None:
        """Prepare to send; nothing is opened until there is an e-mail."""
        self._server = server
        self._sender = sender

    def send(self, mails: Iterable[Mail]) -> None:
        """Send e-mails. Raises MailFailed; the log says why, and to which domain."""
        to_send = list(mails)
        if not to_send:
            return
        try:
            with self._connect() as connection:
                for mail in to_send:
                    connection.send_message(
                        _message(mail, self._sender), from_addr=parseaddr(self._sender)[1], to_addrs=[mail.to]
                    )
        except (OSError, smtplib.SMTPException, ValueError) as error:
            # neither the address nor what the server quotes of it goes into the log
            domains = sorted({mail.to.rpartition("@")[2] for mail in to_send})
            code = getattr(error, "smtp_code", None)
            log.error("mail_failed", domains=domains, error=type(error).__name__, code=code)  # noqa: TRY400
            raise MailFailed from None
        log.info("mail_sent", count=len(to_send))

    def _connect(self) -> smtplib.SMTP:
        server, context = self._server, ssl.create_default_context()
        if server.tls:
            connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_S, context=context)
        else:
            connection = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
        try:
            if server.starttls:
                connection.starttls(context=context)
            if server.user:
                connection.login(server.user, server.password)
        except BaseException:
            connection.close()
            raise
        return connection


class OutboxMailer:
    """Puts e-mails into a folder, for sites that have no mail server."""

    def __init__(self, folder: Path, *, sender: str) -> None:
        """Prepare to write; the folder is made with the first e-mail."""
        self._folder = folder
        self._sender = sender

    def send(self, mails: Iterable[Mail]) -> None:
        """Write e-mails, one file each. Raises MailFailed; the log says why."""
        try:
            for mail in mails:
                self._write(mail)
        except (OSError, ValueError) as error:
            log.error("mail_failed", error=type(error).__name__)  # noqa: TRY400
            raise MailFailed from None

    def _write(self, mail: Mail) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{utc_now():%Y-%m-%dT%H-%M-%S}-{os.urandom(4).hex()}.eml"
        # whoever can read an e-mail can use the link in it
        descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_message(mail, self._sender).as_bytes(policy=SMTP))
        log.info("mail_in_outbox", file=name, subject=mail.subject)


def _message(mail: Mail, sender: str) -> EmailMessage:
    """Make the message. Raises: ValueError if an address is none; a line end in a header is refused as well."""
    name, address = parseaddr(sender)
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(display_name=name, addr_spec=address)
    try:
        message["To"] = Address(addr_spec=mail.to)
    except (MessageError, LookupError):  # the parser stumbles over some of what is no address
        error = "that is no address"
        raise ValueError(error) from None
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(utc_now())
    message["Message-ID"] = make_msgid(domain=address.rpartition("@")[2] or "localhost")
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message
