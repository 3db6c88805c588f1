"""Batches of codes: making one, which shows its codes once, and revoking what nobody has used of it."""

import csv
import io
from base64 import b64encode

from fastapi import APIRouter, Response

from app.errors import AppError, LimitRefused
from app.services.plans import codes, plans
from app.services.plans.codes import LABEL_LIMIT, MOST_CODES, MOST_DAYS, Offer
from app.web.admin.pages import admin_page, done
from app.web.admin.schemas import REASON_LIMIT, BatchesOut, BatchIn, BatchOut, MadeOut, ResetIn, RevokedOut
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.csv_cells import safe_row
from app.web.http.form_pages import ShownForm, refused
from app.web.http.forms import Form, FormRefused, SentForm, fingerprint
from app.web.http.schemas import problems, written
from app.web.http.site import SiteOfRequest

router = APIRouter(tags=["administration"])


@router.get("/api/v1/admin/codes", responses=problems(401, 403), summary="All batches of codes")
def get_batches(site: SiteOfRequest, _admin: CurrentAdmin) -> BatchesOut:
    """Return how many codes of each batch were redeemed, have expired, and can still be used."""
    with site.database.read() as session:
        found = codes.list_batches(session)
    return BatchesOut(batches=[BatchOut.model_validate(batch) for batch in found])


@router.post(
    "/api/v1/admin/codes",
    status_code=201,
    responses=problems(400, 401, 403, 404, 413, 422, 503),
    summary="Make a batch of codes",
)
def post_batch(site: SiteOfRequest, admin: CurrentAdmin, body: BatchIn) -> MadeOut:
    """Make codes. Only their hashes are kept, so this answer is the only time that they are shown."""
    offer = Offer(body.label, body.plan, body.plan_days, body.expires_at)
    with site.database.write() as session:
        made = codes.make_batch(session, offer, body.count, by=admin, reason=body.reason)
    return MadeOut(label=body.label, codes=made)


@router.post(
    "/api/v1/admin/codes/{label:path}/revoke",
    responses=problems(400, 401, 403, 404, 413, 422, 503),
    summary="Revoke the unused codes of a batch",
)
def post_revocation(site: SiteOfRequest, admin: CurrentAdmin, label: str, body: ResetIn) -> RevokedOut:
    """Let the codes that nobody has redeemed expire now. Plans that were given stay."""
    with site.database.write() as session:
        revoked = codes.revoke_batch(session, label, by=admin, reason=body.reason)
    return RevokedOut(revoked=revoked)


@router.get("/admin/codes", include_in_schema=False)
def get_codes_page(site: SiteOfRequest, _admin: CurrentAdmin, done: str = "") -> Response:
    """Show every batch, and the form for a new one."""
    return _page(site, news=done)


@router.post("/admin/codes", include_in_schema=False)
def post_codes_page(site: SiteOfRequest, admin: CurrentAdmin, form: SentForm) -> Response:
    """Make a batch, and show its codes in this very answer: they are kept nowhere from which to show them later."""
    try:
        with site.database.write() as session:
            offer, count, reason = _read(form, [plan.name for plan in plans.list_plans(session)])
            made = codes.make_batch(session, offer, count, by=admin, reason=reason)
            plan = plans.plan_named(session, offer.plan)
    except (FormRefused, LimitRefused) as error:
        return _page(site, refused=refused("make", error, form.typed))
    page = admin_page(
        site,
        "admin/codes_made.html",
        offer=offer,
        plan=plan,
        codes=made,
        text_address=_download("\n".join([*made, ""]), "text/plain"),
        csv_address=_download(_table(offer, made), "text/csv"),
    )
    page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/admin/codes/revoke", include_in_schema=False)
def post_revoke(site: SiteOfRequest, admin: CurrentAdmin, form: SentForm) -> Response:
    """Revoke a batch from its form."""
    label = form.text("label")
    try:
        form.confirmed(f"sure-{fingerprint(label)}")
        reason = form.text("reason", most=REASON_LIMIT)
        form.finish()
        with site.database.write() as session:
            codes.revoke_batch(session, label, by=admin, reason=reason)
    except (FormRefused, AppError) as error:
        return _page(site, refused=refused(f"revoke-{fingerprint(label)}", error, form.typed))
    return done("/admin/codes", "codes-revoked")


def _read(form: Form, known: list[str]) -> tuple[Offer, int, str]:
    label = form.text("label", most=LABEL_LIMIT)
    if not label:
        form.errors.setdefault("label", "Give the batch a name, so that you know later what it was for.")
    count = form.whole("count", least=1, most=MOST_CODES)
    plan = form.chosen("plan", known)
    days = form.whole_or_none("plan_days", least=1, most=MOST_DAYS)
    expires_at = form.end_of_day("expires_at")
    reason = form.text("reason", most=REASON_LIMIT)
    form.finish()
    return Offer(label, plan, days, expires_at), count, reason


def _page(site: SiteOfRequest, *, refused: ShownForm | None = None, news: str = "") -> Response:
    with site.database.read() as session:
        titles = {plan.name: plan.title for plan in plans.list_plans(session)}
        batches = codes.list_batches(session)
    shown: dict[str, object] = {"batches": batches, "titles": titles, "plans": list(titles.items())}
    most = {"codes": MOST_CODES, "days": MOST_DAYS, "label": LABEL_LIMIT}
    return admin_page(site, "admin/codes.html", refused=refused, news=news, most=most, **shown)


def _table(offer: Offer, made: list[str]) -> str:
    written_to = io.StringIO()
    table = csv.writer(written_to)
    table.writerow(["code", "batch", "plan", "plan_days", "redeem_before"])
    expires_at = written(offer.expires_at) or ""
    table.writerows(safe_row([code, offer.label, offer.plan, offer.plan_days or "", expires_at]) for code in made)
    return written_to.getvalue()


def _download(text: str, kind: str) -> str:
    """Return an address that holds a file itself, so that the codes need not be kept anywhere to be fetched."""
    return f"data:{kind};charset=utf-8;base64,{b64encode(text.encode()).decode()}"
