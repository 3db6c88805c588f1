"""What every request can reach: the database, the queue, the wakeups and the pages of one running site."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Annotated

import structlog
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Request
from sqlalchemy.exc import SQLAlchemyError

from app.clients.mail import Mail, Mailer, MailFailed, OutboxMailer, SmtpMailer, read_smtp_url
from app.clients.oidc import Provider
from app.clients.tutor.hosted import hosted_engine
from app.db import Database
from app.metrics import UNWRITTEN, WRITE_EVERY_S
from app.services import metrics
from app.services.grading.backend import queue_for, wakeups_for
from app.services.keyed_hash import keyed_hash_for
from app.services.plans.daily_limits import allowances_of
from app.services.tutor.offline.engine import RetrievalEngine
from app.settings import Settings
from app.web.accounts.bootstrap_admin import Opening
from app.web.http.templates import Pages
from app.web.limits.rate_limits import Rates
from app.web.limits.stream_limits import Streams
from app.web.submissions.queue_positions import Places
from app.web.tutor.answer_tasks import AnswerDesk

log = structlog.get_logger()

LOOKS_AT_ONCE = 4
"""How many of those who wait may look at the database at the same instant."""

RENDERINGS_AT_ONCE = 2
"""How many answers that are being written may be turned into HTML at the same instant."""


class Site:
    """One web process. Built before the event loop; only the bell needs the loop."""

    def __init__(self, settings: Settings) -> None:
        """Prepare everything; no connection is opened yet."""
        self.settings = settings
        self.database = Database(settings.database_url, connections=settings.database_connections)
        self.queue = queue_for(settings, self.database)
        self.wakeups = wakeups_for(settings, self.database)
        self.subscriptions = self.wakeups.subscriptions()
        self.pages = Pages()
        self.rates = Rates()
        self.allowances = allowances_of(settings)
        self.keyed_hash = keyed_hash_for(settings)
        self.mailer = _mailer(settings)
        self.provider = _provider(settings)
        self.opening = Opening()
        self.looks = CapacityLimiter(LOOKS_AT_ONCE)
        self.renderings = CapacityLimiter(RENDERINGS_AT_ONCE)
        self.streams = Streams(per_account=settings.streams_per_account, per_network=settings.streams_per_network)
        self.places = Places(self._read_places, limiter=self.looks)
        self.is_leaving = False
        """Set when the server is to end: whoever waits is then told how things stand, and can ask another."""
        own = RetrievalEngine()
        self._hosted = hosted_engine(settings)
        self.desk = AnswerDesk(self.database, engine=self._hosted or own, fallback=own)

    def is_getting_ready(self) -> bool:
        """Say whether nobody can grade yet, because the workers are still being started, as far as one can know."""
        return not self.wakeups.workers_listen()

    def leave(self) -> None:
        """End all waits. Call it in the event loop."""
        self.is_leaving = True
        self.subscriptions.notify_all("leaving")

    def _read_places(self) -> dict[str, int]:
        with self.database.read() as session:
            return self.queue.positions(session)

    def post_quietly(self, mails: Iterable[Mail]) -> None:
        """
        Send mail after the answer, so that the answer says nothing of whether there was any to send.

        A failure goes to the log alone: the mailer has written it there.
        """
        with suppress(MailFailed):
            self.mailer.send(mails)

    def write_figures(self) -> None:
        """Add what this process has counted to the site's totals."""
        with UNWRITTEN.taken() as changes, self.database.write() as session:
            metrics.add(session, changes)

    async def _write_figures_for_ever(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            try:
                await to_thread.run_sync(self.write_figures)
            except SQLAlchemyError:
                log.exception("figures could not be written")  # they are still counted, and written next time

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Listen to the bell as long as the site is served."""
        async with self.subscriptions:
            writing = asyncio.create_task(self._write_figures_for_ever())
            yield
            writing.cancel()
        await self.desk.close()
        if self._hosted:
            await self._hosted.aclose()
        self.database.dispose()


def _mailer(settings: Settings) -> Mailer:
    if url := settings.smtp_url.get_secret_value():
        return SmtpMailer(read_smtp_url(url), sender=settings.mail_from)
    return OutboxMailer(settings.outbox_dir, sender=settings.mail_from)


def _provider(settings: Settings) -> Provider | None:
    if not settings.oidc_issuer:
        return None
    return Provider(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret.get_secret_value(),
        title=settings.oidc_title,
        redirect_uri=f"{settings.site_url}/oidc/callback",
    )


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOfRequest = Annotated[Site, Depends(_site)]
