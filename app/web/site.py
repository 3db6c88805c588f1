"""What every request can reach: the database, the queue, the bells and the pages of one running site."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI, Request

from app.db import Database
from app.services.transport import bells_for, queue_for
from app.settings import Settings
from app.web.pages import Pages
from app.web.places import Places

LOOKS_AT_ONCE = 4
"""How many of those who wait may look at the database at the same instant."""


class Site:
    """One web process. Built before the event loop; only the bell needs the loop."""

    def __init__(self, settings: Settings) -> None:
        """Prepare everything; no connection is opened yet."""
        self.settings = settings
        self.database = Database(settings.database_url, connections=settings.database_connections)
        self.queue = queue_for(settings, self.database)
        self.bells = bells_for(settings, self.database)
        self.bell = self.bells.web_bell()
        self.pages = Pages()
        self.looks = CapacityLimiter(LOOKS_AT_ONCE)
        self.places = Places(self._read_places, limiter=self.looks)
        self.is_leaving = False
        """Set when the server is to end: whoever waits is then told how things stand, and can ask another."""

    def is_getting_ready(self) -> bool:
        """Say whether nobody can grade yet, because the workers are still being started, as far as one can know."""
        return not self.bells.workers_listen()

    def leave(self) -> None:
        """End all waits. Call it in the event loop."""
        self.is_leaving = True
        self.bell.ring_all("leaving")

    def _read_places(self) -> dict[str, int]:
        with self.database.read() as session:
            return self.queue.places(session)

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Listen to the bell as long as the site is served."""
        async with self.bell:
            yield
        self.database.dispose()


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


SiteOfRequest = Annotated[Site, Depends(_site)]
