"""The web application: routes, guards and static files put together."""

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.settings import Settings
from app.web import (
    account_page,
    admin,
    admin_audit,
    admin_codes,
    admin_plans,
    admin_tutor,
    admin_users,
    admin_users_api,
    attempts,
    codes,
    courses,
    drafts,
    exercises,
    figures,
    health,
    hints,
    oidc,
    privacy,
    problems,
    recovery,
    reference,
    sessions,
    sign_in,
    sign_up,
    submissions,
    tutor,
)
from app.web.access import Access
from app.web.admission import Admission
from app.web.guards import Guards
from app.web.pages import STATIC
from app.web.problems import Problem
from app.web.site import Site


def create_app(settings: Settings) -> FastAPI:
    """Build the application. The database must be at the newest migration by the first request."""
    site = Site(settings)
    app = FastAPI(
        title="Kelolo",
        version="1",
        summary="Auto-graded coding exercises for PyTorch.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages come from a CDN with inline scripts; ours is app.web.reference
        redoc_url=None,
        lifespan=site.lifespan,
    )
    app.state.site = site
    problems.install(app, site.pages)
    problems.install_database(app, site.pages)
    nouns = (
        submissions,
        sessions,
        codes,
        health,
        figures,
        reference,
        privacy,
        courses,
        exercises,
        attempts,
        hints,
        tutor,
    )
    ways_in = (sign_in, sign_up, recovery, oidc, account_page)
    administration = (admin, admin_plans, admin_users, admin_users_api, admin_codes, admin_audit, admin_tutor)
    for noun in (*nouns, drafts, *ways_in, *administration):
        app.include_router(noun.router)
    app.mount("/static", CachedFiles(directory=STATIC), name="static")

    def answer(request: Request, problem: Problem) -> Response:
        return problems.answer(request, problem, pages=site.pages)

    app.add_middleware(
        Admission, answer=answer, per_account=settings.streams_per_account, per_network=settings.streams_per_network
    )
    app.add_middleware(Guards, answer=answer)
    app.add_middleware(Access)  # the last is the outermost
    return app


class CachedFiles(StaticFiles):
    """Static files; one that is asked for by its fingerprint may be kept for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file."""
        response = await super().get_response(path, scope)
        fingerprinted = scope["query_string"].startswith(b"v=")
        keep = "public, max-age=31536000, immutable" if fingerprinted else "public, no-cache"
        response.headers["Cache-Control"] = keep
        return response
