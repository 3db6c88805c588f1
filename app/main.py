"""The web application: this is the one place where its parts are joined, with routes, guards and static files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.clients.mail import Mailer, OutboxMailer, SmtpMailer, read_smtp_url
from app.clients.oidc import Provider
from app.clients.tutor.hosted import hosted_engine
from app.db import Database
from app.services.grading.backend import queue_for, wakeups_for
from app.services.keyed_hash import keyed_hash_for
from app.services.plans.daily_limits import allowances_of
from app.services.tutor.offline.engine import RetrievalEngine
from app.settings import Settings
from app.web.accounts import api as account_api
from app.web.accounts import oidc, privacy, recovery, sign_in, sign_up
from app.web.accounts import pages as account_pages
from app.web.accounts.bootstrap_admin import BootstrapAdmin
from app.web.admin import audit as admin_audit
from app.web.admin import codes as admin_codes
from app.web.admin import pages as admin_pages
from app.web.admin import plans as admin_plans
from app.web.admin import tutor as admin_tutor
from app.web.admin import users as admin_users
from app.web.admin import users_api
from app.web.auth.admission import Admission
from app.web.exercises import catalogue
from app.web.exercises import pages as exercise_pages
from app.web.hints import routes as hint_routes
from app.web.http import problems
from app.web.http.described_app import DescribedApp
from app.web.http.guards import Guards
from app.web.http.problems import Problem
from app.web.http.request_log import RequestLog
from app.web.http.schemas import AsciiJson
from app.web.http.site import Site
from app.web.http.templates import STATIC, Pages
from app.web.limits.rate_limits import Rates
from app.web.limits.stream_limits import Streams
from app.web.operations import api_reference, health, metrics
from app.web.plans import codes
from app.web.submissions import api as submission_api
from app.web.submissions import drafts
from app.web.submissions import pages as submission_pages
from app.web.submissions.queue_positions import QueuePositions
from app.web.submissions.wording import TEMPLATE_WORDS
from app.web.tutor import routes as tutor_routes
from app.web.tutor import unanswered as tutor_unanswered
from app.web.tutor.answer_tasks import AnswerDesk

ROUTERS = (
    submission_api,
    account_api,
    codes,
    health,
    metrics,
    api_reference,
    privacy,
    catalogue,
    exercise_pages,
    submission_pages,
    hint_routes,
    tutor_routes,
    tutor_unanswered,
    drafts,
    sign_in,
    sign_up,
    recovery,
    oidc,
    account_pages,
    admin_pages,
    admin_plans,
    admin_users,
    users_api,
    admin_codes,
    admin_audit,
    admin_tutor,
)


def create_app(settings: Settings) -> FastAPI:
    """Build the application. The database must be at the newest migration by the first request."""
    site = build_site(settings)
    app = DescribedApp(
        title="Kelolo",
        version="1",
        summary="Auto-graded coding exercises for PyTorch.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages come from a CDN with inline scripts; ours is app.web.operations.api_reference
        redoc_url=None,
        lifespan=_lifespan,
        default_response_class=AsciiJson,
    )
    app.state.site = site
    problems.install(app, site.pages)
    problems.install_database(app, site.pages)
    for module in ROUTERS:
        app.include_router(module.router)
    app.mount("/static", CachedFiles(directory=STATIC), name="static")

    def answer(request: Request, problem: Problem) -> Response:
        return problems.answer(request, problem, pages=site.pages)

    app.add_middleware(
        Admission, answer=answer, per_account=settings.streams_per_account, per_network=settings.streams_per_network
    )
    app.add_middleware(Guards, answer=answer)
    app.add_middleware(RequestLog)  # the last is the outermost
    return app


def build_site(settings: Settings) -> Site:
    """Make what requests reach, and join its parts. No connection is opened yet."""
    database = Database(settings.database_url, connections=settings.database_connections)
    wakeups = wakeups_for(settings, database)
    site = Site(
        settings=settings,
        database=database,
        queue=queue_for(settings, database),
        wakeups=wakeups,
        subscriptions=wakeups.subscriptions(),
        pages=Pages(TEMPLATE_WORDS),
        rates=Rates(),
        streams=Streams(per_account=settings.streams_per_account, per_network=settings.streams_per_network),
        allowances=allowances_of(settings),
        keyed_hash=keyed_hash_for(settings),
        mailer=_mailer(settings),
        provider=_provider(settings),
    )
    hosted, own = hosted_engine(settings), RetrievalEngine()
    site.parts.add(BootstrapAdmin())
    site.parts.add(QueuePositions(site.queue_positions, limiter=site.looks))
    close_engine = hosted.aclose if hosted else None
    site.parts.add(AnswerDesk(database, engine=hosted or own, fallback=own, close_engine=close_engine))
    return site


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


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Listen to the workers as long as the site is served; then give up what is under way, and close all."""
    site: Site = app.state.site
    async with site.subscriptions:
        writing = asyncio.create_task(site.write_metrics_for_ever())
        yield
        writing.cancel()
    await site.parts.get(AnswerDesk).close()
    site.database.dispose()


class CachedFiles(StaticFiles):
    """Static files; one that is asked for by its fingerprint may be kept for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file."""
        response = await super().get_response(path, scope)
        fingerprinted = scope["query_string"].startswith(b"v=")
        keep = "public, max-age=31536000, immutable" if fingerprinted else "public, no-cache"
        response.headers["Cache-Control"] = keep
        return response
