"""The HTTP API of users, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from app.models import Account, Role, Rule
from app.services.administration import users
from app.services.administration.users import UserFilter, UserOrder
from app.services.plans import plans, quotas
from app.web.admin.schemas import (
    REASON_LIMIT,
    BlockedIn,
    ExtraIn,
    GivenPlanIn,
    OwnLimitIn,
    ResetIn,
    RoleIn,
    UserOut,
    UsersOut,
    WholeUserOut,
)
from app.web.auth.dependencies import CurrentAdmin
from app.web.http.schemas import problems
from app.web.http.site import SiteOfRequest

router = APIRouter(prefix="/api/v1/admin/users", tags=["administration"])

_CHANGE = problems(400, 401, 403, 404, 409, 413, 422, 503)


@router.get("", responses=problems(401, 403, 422), summary="Find users")
def get_users(
    *,
    site: SiteOfRequest,
    _admin: CurrentAdmin,
    q: Annotated[str, Query(max_length=254, description="A part of the e-mail address.")] = "",
    role: Annotated[Role | None, Query(description="All but guests, unless it is given.")] = None,
    plan: Annotated[str, Query(max_length=100, description="The name of the plan that they have now.")] = "",
    blocked: Annotated[bool | None, Query(description="Only those who are, or are not.")] = None,
    sort: Annotated[UserOrder, Query()] = UserOrder.EMAIL,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> UsersOut:
    """Return a page of the accounts that fit all of what is asked."""
    filters = UserFilter(email=q, role=role, plan=plan, blocked=blocked)
    with site.database.read() as session:
        found = users.search(session, filters, order=sort, limit=limit, offset=offset)
    return UsersOut(users=[UserOut.model_validate(row) for row in found.rows], total=found.total)


@router.get("/{user_id}", responses=problems(401, 403, 404), summary="All about a user")
def get_user(site: SiteOfRequest, _admin: CurrentAdmin, user_id: str) -> WholeUserOut:
    """Return an account by its id or e-mail address, with all that an administrator may change."""
    with site.database.read() as session:
        return _answer(session, users.named(session, user_id))


@router.put("/{user_id}/plan", responses=_CHANGE, summary="Give a user a plan")
def put_plan(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, body: GivenPlanIn) -> WholeUserOut:
    """Put an account on a plan from now on, until `ends_at` or without end. What it had before ends."""
    with site.database.write() as session:
        account = users.locked(session, user_id)
        plans.give_plan(session, account, body.plan, ends_at=body.ends_at, by=admin, reason=body.reason)
        return _answer(session, account)


@router.put("/{user_id}/role", responses=_CHANGE, summary="Change a user’s role")
def put_role(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, body: RoleIn) -> WholeUserOut:
    """Change what an account may do. Nobody changes their own role, and the last administrator stays one."""
    with site.database.write() as session:
        account = users.locked(session, user_id)
        users.set_role(session, account, body.role, by=admin, reason=body.reason)
        return _answer(session, account)


@router.put("/{user_id}/blocked", responses=_CHANGE, summary="Block a user, or let one in")
def put_blocked(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, body: BlockedIn) -> WholeUserOut:
    """Block an account, which ends its sessions and tokens for good, or lift the block."""
    change = users.block if body.blocked else users.unblock
    with site.database.write() as session:
        account = users.locked(session, user_id)
        change(session, account, by=admin, reason=body.reason)
        return _answer(session, account)


@router.put("/{user_id}/limits/{rule}", responses=_CHANGE, summary="Set a limit for one user")
def put_limit(*, site: SiteOfRequest, admin: CurrentAdmin, user_id: str, rule: Rule, body: OwnLimitIn) -> WholeUserOut:
    """Set what one account may, whatever its plan says."""
    limit = plans.checked(rule, body.model_dump())
    with site.database.write() as session:
        account = users.locked(session, user_id)
        plans.set_override(session, account, rule, limit, by=admin, reason=body.reason)
        return _answer(session, account)


@router.delete(
    "/{user_id}/limits/{rule}",
    responses=problems(401, 403, 404, 422, 503),
    summary="Take a user’s own limit back",
)
def delete_limit(
    *,
    site: SiteOfRequest,
    admin: CurrentAdmin,
    user_id: str,
    rule: Rule,
    reason: Annotated[str, Query(max_length=REASON_LIMIT, description="Why, for the audit log.")] = "",
) -> WholeUserOut:
    """Let the plan’s own limit hold again. Harmless where nothing was set."""
    with site.database.write() as session:
        account = users.locked(session, user_id)
        plans.set_override(session, account, rule, None, by=admin, reason=reason)
        return _answer(session, account)


@router.post(
    "/{user_id}/extra",
    status_code=201,
    responses=_CHANGE,
    summary="Give a user tutor messages on top",
)
def post_extra(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, body: ExtraIn) -> WholeUserOut:
    """Give tutor messages once. They are used when the plan’s own are spent, and what expires first goes first."""
    with site.database.write() as session:
        account = users.locked(session, user_id)
        plans.give_extra(
            session,
            account,
            Rule.TUTOR_MESSAGES,
            amount=body.amount,
            expires_at=body.expires_at,
            by=admin,
            reason=body.reason,
        )
        return _answer(session, account)


@router.post("/{user_id}/reset", responses=_CHANGE, summary="Let a user begin from zero")
def post_reset(site: SiteOfRequest, admin: CurrentAdmin, user_id: str, body: ResetIn) -> WholeUserOut:
    """Set the tutor messages used in the day, the month and the lifetime that run now to zero."""
    with site.database.write() as session:
        account = users.locked(session, user_id)
        quotas.reset(session, account, Rule.TUTOR_MESSAGES, by=admin, reason=body.reason)
        return _answer(session, account)


def _answer(session: Session, account: Account) -> WholeUserOut:
    return WholeUserOut.model_validate(users.detail(session, account))
