"""The web application: routes, guards and static files put together."""

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.settings import Settings
from app.web.accounts import api as account_api
from app.web.accounts import oidc, privacy, recovery, sign_in, sign_up
from app.web.accounts import pages as account_pages
from app.web.admin import audit as admin_audit
from app.web.admin import codes as admin_codes
from app.web.admin import pages as admin_pages
from app.web.admin import plans as admin_plans
from app.web.admin import tutor as admin_tutor
from app.web.admin import users as admin_users
from app.web.admin import users_api
from app.web.exercises import catalogue
from app.web.exercises import pages as exercise_pages
from app.web.hints import routes as hint_routes
from app.web.http import api_reference, problems
from app.web.http.guards import Guards
from app.web.http.problems import Problem
from app.web.http.request_log import Access
from app.web.http.site import Site
from app.web.http.templates import STATIC
from app.web.limits.admission import Admission
from app.web.operations import health, metrics
from app.web.plans import codes
from app.web.submissions import api as submission_api
from app.web.submissions import drafts
from app.web.submissions import pages as submission_pages
from app.web.tutor import routes as tutor_routes


def create_app(settings: Settings) -> FastAPI:
    """Build the application. The database must be at the newest migration by the first request."""
    site = Site(settings)
    app = FastAPI(
        title="Kelolo",
        version="1",
        summary="Auto-graded coding exercises for PyTorch.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages come from a CDN with inline scripts; ours is app.web.http.api_reference
        redoc_url=None,
        lifespan=site.lifespan,
    )
    app.state.site = site
    problems.install(app, site.pages)
    problems.install_database(app, site.pages)
    nouns = (
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
    )
    ways_in = (sign_in, sign_up, recovery, oidc, account_pages)
    administration = (admin_pages, admin_plans, admin_users, users_api, admin_codes, admin_audit, admin_tutor)
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
