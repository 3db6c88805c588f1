"""Whether the site is alive, and whether it can serve: for supervisors and load balancers."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import SQLAlchemyError

from app.clients.mail import read_smtp_url
from app.services import metrics
from app.services.exercises import catalogue
from app.services.grading import workers
from app.web.admin.pages import admin_page
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.problems import Problem, document
from app.web.http.schemas import problems
from app.web.http.site import Site, SiteOfRequest
from app.web.operations.metrics import in_words

router = APIRouter(tags=["health"])


class AliveOut(BaseModel):
    """That the process answers."""

    status: Literal["alive"]


class SandboxLayerOut(BaseModel):
    """One layer of the sandbox, as the weakest worker has it."""

    model_config = ConfigDict(extra="allow")

    wall: str
    deed: str = Field(description="What a student's code could do without it.")
    state: str = Field(description="`holds`, `not needed` or `missing`.")


class ReadyOut(BaseModel):
    """Who grades, behind which walls, and what waits."""

    status: Literal["ready"]
    workers: int
    slots: int
    waiting: int = Field(description="Live submissions that no worker has taken.")
    oldest_s: float = Field(description="How long the oldest job has waited.")
    walls: list[SandboxLayerOut]


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
        now = metrics.snapshot(session, site.queue)
    return admin_page(
        site,
        "admin/health.html",
        now=now,
        walls=workers.by_layer(now.walls),
        counted=in_words(now),
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
def healthz() -> AliveOut:
    """Answer as long as the process does."""
    return AliveOut(status="alive")


@router.head("/readyz", response_model=ReadyOut, include_in_schema=False)
@router.get("/readyz", response_model=ReadyOut, responses=problems(503), summary="Can the server do its work?")
def readyz(site: SiteOfRequest) -> ReadyOut | Response:
    """
    Answer with 200 if the database can be read and has its tables, and say who grades, and behind which walls.

    Without a worker the site is ready all the same: what is sent waits, and nothing is lost.
    """
    try:
        with site.database.read() as session:
            catalogue.list_lessons(session)
            there = workers.present(session)
            walls, slots = workers.weakest_layers(there), sum(one.slots for one in there)
            waiting, oldest_s = site.queue.depth(session), metrics.waited_s(session, site.queue)
    except SQLAlchemyError:
        return document(_NOT_READY)
    return ReadyOut(
        status="ready",
        workers=len(there),
        slots=slots,
        waiting=waiting,
        oldest_s=oldest_s,
        walls=[SandboxLayerOut.model_validate(one) for one in walls],
    )
