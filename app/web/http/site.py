"""What every request can reach: the database, the queue, the wakeups, the pages and the parts of one running site."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, cast

import structlog
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from app.clients.mail import Mail, Mailer, MailFailed
from app.clients.oidc import Provider
from app.clients.wakeups.port import Subscriptions, Wakeups
from app.db import Database
from app.metrics import UNWRITTEN, WRITE_EVERY_S
from app.services import metrics
from app.services.grading.queue import GradingQueue
from app.services.keyed_hash import KeyedHash
from app.services.plans.daily_limits import Allowances
from app.settings import Settings
from app.web.http.templates import Pages
from app.web.limits.rate_limits import Rates
from app.web.limits.stream_limits import Streams

log = structlog.get_logger()
Part = TypeVar("Part")

LOOKS_AT_ONCE = 4
"""How many of those who wait may look at the database concurrently."""

RENDERINGS_AT_ONCE = 2
"""How many answers that are being written may be turned into HTML concurrently."""


class Parts:
    """
    What single packages keep for as long as the site runs, found by its class.

    `app.main` puts each part in, and only the package that a class belongs to asks for it: so this module need not
    know the packages that are built on it.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._parts: dict[type[object], object] = {}

    def add(self, part: object) -> None:
        """Keep a part. Raises ValueError if there is one of its class already."""
        if type(part) in self._parts:
            raise ValueError(f"there is a {type(part).__name__} already")
        self._parts[type(part)] = part

    def get(self, kind: type[Part]) -> Part:
        """Return the part of a class. Raises LookupError: `app.main` has put none in."""
        part = self._parts.get(kind)
        if part is None:
            raise LookupError(f"this site has no {kind.__name__}")
        return cast("Part", part)


@dataclass
class Site:
    """One web process. Built before the event loop; only the subscriptions need the loop."""

    settings: Settings
    database: Database
    queue: GradingQueue
    wakeups: Wakeups
    subscriptions: Subscriptions
    pages: Pages
    rates: Rates
    streams: Streams
    allowances: Allowances
    keyed_hash: KeyedHash
    mailer: Mailer
    provider: Provider | None
    """Through which people may sign in besides; None if there is none."""
    looks: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(LOOKS_AT_ONCE))
    renderings: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(RENDERINGS_AT_ONCE))
    parts: Parts = field(default_factory=Parts)
    is_leaving: bool = False
    """Set when the server is to end: whoever waits is then told how things stand, and can ask another."""

    def is_getting_ready(self) -> bool:
        """Say whether nobody can grade yet, because the workers are still being started, as far as one can know."""
        return not self.wakeups.workers_listen()

    def leave(self) -> None:
        """End all waits. Call it in the event loop."""
        self.is_leaving = True
        self.subscriptions.notify_all("leaving")

    def queue_positions(self) -> dict[str, int]:
        """Read the position of each submission that waits, by its id."""
        with self.database.read() as session:
            return self.queue.positions(session)

    def send_quietly(self, mails: Iterable[Mail]) -> None:
        """
        Send mail after the answer, so that the answer says nothing of whether there was any to send.

        A failure goes to the log alone: the mailer has written it there.
        """
        with suppress(MailFailed):
            self.mailer.send(mails)

    def write_metrics(self) -> None:
        """Add what this process has counted to the site's totals."""
        with UNWRITTEN.taken() as changes, self.database.write() as session:
            metrics.add(session, changes)

    async def write_metrics_for_ever(self) -> None:
        """Do so every few seconds, until this task is cancelled."""
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            try:
                await to_thread.run_sync(self.write_metrics)
            except SQLAlchemyError:
                log.exception("metrics could not be written")  # they are still counted, and written next time


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOfRequest = Annotated[Site, Depends(_site)]
