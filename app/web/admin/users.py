"""The administrators' pages of users: finding one, and changing what one may."""

from collections.abc import Callable
from urllib.parse import urlencode

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from app.errors import (
    EditedMeanwhile,
    LastAdmin,
    LimitRefused,
    NotFound,
    OwnAccount,
    RoleRefused,
)
from app.models import ASSIGNABLE_ROLES, Account, Role, Rule
from app.services import audit
from app.services.administration import users
from app.services.administration.users import UserFilter, UserOrder
from app.services.audit import AuditFilter
from app.services.plans import plans, quotas
from app.services.plans.plans import MOST
from app.web.admin.pages import admin_page, done
from app.web.admin.plans import limit_context, read_limit
from app.web.admin.schemas import REASON_LIMIT
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.form_pages import ShownForm, refused
from app.web.http.forms import Form, FormRefused, SentForm
from app.web.http.site import SiteOfRequest

router = APIRouter(include_in_schema=False)

PER_PAGE = 50
_LAST_PAGE = 100_000
_ENTRIES = 10


@router.get("/admin/users")
def get_users_page(
    *,
    site: SiteOfRequest,
    _admin: CurrentAdmin,
    q: str = "",
    role: str = "",
    plan: str = "",
    state: str = "",
    sort: str = "",
    page: str = "1",
) -> Response:
    """Show who there is, by page, as far as they fit the filters."""
    number = int(page) if page.isascii() and page.isdecimal() and 1 <= len(page) <= len(str(_LAST_PAGE)) else 1
    number = min(max(number, 1), _LAST_PAGE)
    filters = UserFilter(
        email=q,
        role=Role(role) if role in set(Role) else None,
        plan=plan,
        blocked={"blocked": True, "active": False}.get(state),
    )
    order = UserOrder(sort) if sort in set(UserOrder) else UserOrder.EMAIL
    with site.database.read() as session:
        found = users.search(session, filters, order=order, limit=PER_PAGE, offset=(number - 1) * PER_PAGE)
        known = plans.list_plans(session)
    asked = {"q": q, "role": role, "plan": plan, "state": state, "sort": sort}
    return admin_page(
        site,
        "admin/users.html",
        found=found,
        plans=[(one.name, one.title) for one in known],
        roles=[(one.value, one.value) for one in Role],
        form=ShownForm("search", asked),
        query=urlencode({name: value for name, value in asked.items() if value}),
        page=number,
        pages=max(1, -(-found.total // PER_PAGE)),
    )


@router.get("/admin/users/{user_id}")
def get_user_page(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, done: str = "") -> Response:
    """Show all about one user, with a form for each thing that can be changed."""
    return _user_page(site, admin, user_id, news=done)


@router.post("/admin/users/{user_id}/{what}")
def post_user(*, site: SiteOfRequest, admin: CurrentAdmin, user_id: str, what: str, form: SentForm) -> Response:
    """Change one thing of a user from its form."""
    if what not in _CHANGES:
        raise NotFound(what="form", name=what)
    try:
        with site.database.write() as session:
            account = users.locked(session, user_id)
            form.unchanged_since(users.detail(session, account).to_json(), what="this account")
            news = _CHANGES[what](session, account, form, admin)
    except (FormRefused, EditedMeanwhile, LimitRefused, RoleRefused, LastAdmin, OwnAccount) as error:
        form_id = f"limit-{form.typed.get('rule', '')}" if what == "limit" else what  # there is one for each rule
        return _user_page(site, admin, user_id, refused=refused(form_id, error, form.typed))
    return done(f"/admin/users/{account.id}", news)


def _user_page(
    site: SiteOfRequest, admin: Account, user_id: str, *, refused: ShownForm | None = None, news: str = ""
) -> Response:
    with site.database.read() as session:
        account = users.named(session, user_id)
        titles = {plan.name: plan.title for plan in plans.list_plans(session)}
        shown: dict[str, object] = {
            "user": users.detail(session, account),
            "plans": list(titles.items()),
            "titles": titles,
            "entries": audit.search(session, AuditFilter(subject=account.id), limit=_ENTRIES),
        }
    return admin_page(
        site,
        "admin/user.html",
        refused=refused,
        news=news,
        own=account.id == admin.id,
        roles=[(role.value, role.value) for role in ASSIGNABLE_ROLES],
        **shown,
        **limit_context(),
    )


def _change_plan(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    name = form.chosen("plan", [plan.name for plan in plans.list_plans(session)])
    ends_at = form.end_of_day("ends_at")
    form.finish()
    plans.give_plan(session, account, name, ends_at=ends_at, by=admin, reason=reason)
    return "user-plan"


def _change_role(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    role = form.chosen("role", [one.value for one in ASSIGNABLE_ROLES])
    if Role.ADMIN in {account.role, role}:
        form.confirmed()
    form.finish()
    users.set_role(session, account, role, by=admin, reason=reason)
    return "user-role"


def _change_limit(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    rule = Rule(form.chosen("rule", [one.value for one in Rule]))
    if form.ticked("as_plan"):
        form.finish()
        plans.set_override(session, account, rule, None, by=admin, reason=reason)
        return "user-limit-off"
    limit = read_limit(form, rule)
    form.finish()
    plans.set_override(session, account, rule, limit, by=admin, reason=reason)
    return "user-limit"


def _give_extra(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    amount = form.whole("amount", least=1, most=MOST)
    expires_at = form.end_of_day("expires_at")
    form.finish()
    plans.give_extra(
        session, account, Rule.TUTOR_MESSAGES, amount=amount, expires_at=expires_at, by=admin, reason=reason
    )
    return "user-extra"


def _reset(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    form.confirmed()
    form.finish()
    quotas.reset(session, account, Rule.TUTOR_MESSAGES, by=admin, reason=reason)
    return "user-reset"


def _block(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    form.confirmed()
    form.finish()
    users.block(session, account, by=admin, reason=reason)
    return "user-block"


def _unblock(session: Session, account: Account, form: Form, admin: Account) -> str:
    reason = _reason(form)
    form.finish()
    users.unblock(session, account, by=admin, reason=reason)
    return "user-unblock"


def _reason(form: Form) -> str:
    return form.text("reason", most=REASON_LIMIT)


_CHANGES: dict[str, Callable[[Session, Account, Form, Account], str]] = {
    "plan": _change_plan,
    "role": _change_role,
    "limit": _change_limit,
    "extra": _give_extra,
    "reset": _reset,
    "block": _block,
    "unblock": _unblock,
}
