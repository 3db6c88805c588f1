"""Whether the site is alive, and whether it can serve: for supervisors and load balancers."""

from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from app.clients.mail import read_smtp_url
from app.services import metrics
from app.services.exercises import catalogue
from app.services.grading import workers
from app.web.admin.pages import admin_page
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.problems import Problem, document
from app.web.http.schemas import json_answer, problems
from app.web.http.site import Site, SiteOfRequest
from app.web.operations.metrics import in_words

router = APIRouter(tags=["health"])

_NOT_READY = Problem(
    status=503,
    title="Not ready",
    detail="The database can't be read. Is it running, and has `kelolo migrate` been run?",
    headers={"Retry-After": "5"},
)


@router.get("/admin/health", include_in_schema=False)
def get_health(site: SiteOfRequest, _admin: CurrentAdmin) -> Response:
    """Show an administrator what `/readyz` says: who grades, what waits, and whether the walls hold."""
    site.write_metrics()
    with site.database.read() as session:
        now, totals = metrics.snapshot(session, site.queue), metrics.totals(session)
    return admin_page(
        site,
        "admin/health.html",
        now=now,
        walls=workers.by_wall(now.walls),
        counted=in_words(now, totals),
        mail_server=_mail_server(site),
        outbox=site.settings.outbox_dir,
        confirms=site.settings.confirms_email,
    )


def _mail_server(site: Site) -> str:
    """Return where mails are handed in, without name and password; nothing if they are put into a folder."""
    if not (url := site.settings.smtp_url.get_secret_value()):
        return ""
    server = read_smtp_url(url)
    return f"{server.host}:{server.port}"


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the server alive?")
def healthz() -> Response:
    """Answer as long as the process does."""
    return json_answer({"status": "alive"})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses=problems(503), summary="Can the server do its work?")
def readyz(site: SiteOfRequest) -> Response:
    """
    Answer with 200 if the database can be read and has its tables, and say who grades, and behind which walls.

    Without a worker the site is ready all the same: what is sent waits, and nothing is lost.
    """
    try:
        with site.database.read() as session:
            catalogue.list_lessons(session)
            there = workers.present(session)
            walls, slots = workers.weakest_walls(there), sum(one.slots for one in there)
            waiting, oldest_s = site.queue.depth(session), metrics.waited_s(session, site.queue)
    except SQLAlchemyError:
        return document(_NOT_READY)
    ready = {"status": "ready", "workers": len(there), "slots": slots, "waiting": waiting, "oldest_s": oldest_s}
    ready["walls"] = walls
    return json_answer(ready)
