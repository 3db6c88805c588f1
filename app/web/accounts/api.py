"""The HTTP API of the visitor's own account and its tokens."""

from typing import Annotated

from fastapi import APIRouter, Body, Response

from app.errors import Forbidden, PasswordWrong, TokenRefused
from app.models import Account, Role
from app.services.accounts import passwords
from app.services.accounts.access import Access, Scope, add_token, default_scopes
from app.services.accounts.sessions import list_tokens, revoke_token
from app.services.personal_data import delete_account
from app.services.plans.plan_usage import usage_of
from app.web.accounts.export import download
from app.web.accounts.schemas import Me, NewToken, Reauthentication, TokenIn, TokenOut
from app.web.auth.dependencies import CurrentAccess, CurrentAccount, drop_cookie
from app.web.http.schemas import problems
from app.web.http.site import Site, SiteOfRequest
from app.web.limits.rate_limits import REAUTHENTICATIONS
from app.web.tutor.answer_tasks import release_lost

router = APIRouter(tags=["account"])


@router.get("/api/v1/me", responses=problems(401, 403), summary="Who am I?")
def get_me(site: SiteOfRequest, account: CurrentAccount) -> Me:
    """Say which account a token or a cookie belongs to, which plan it has, and how much of it is used."""
    release_lost(site.database, account)
    with site.database.read() as session:
        usage = usage_of(session, account)
    return Me.of(account, usage)


@router.delete(
    "/api/v1/me",
    status_code=204,
    responses=problems(400, 401, 403, 409, 413, 422, 429, 503),
    summary="Delete my account",
)
def delete_me(
    site: SiteOfRequest, account: CurrentAccount, body: Annotated[Reauthentication | None, Body()] = None
) -> Response:
    """
    Delete the account with all that belongs to it, for good.

    The body has its `password`, or the `email` of an account without one. A guest needs neither.
    """
    given = body or Reauthentication()
    require_proof(site, account, password=given.password, email=given.email)
    with site.database.write() as session:
        delete_account(session, account.id, keyed_hash=site.keyed_hash)
    answer = Response(status_code=204)
    drop_cookie(answer, secure=site.settings.secure_cookies)
    return answer


@router.get(
    "/api/v1/me/export",
    responses={200: {"description": "A JSON object with a list of rows for each table."}, **problems(401, 403)},
    summary="Export my data",
)
def get_export(site: SiteOfRequest, account: CurrentAccount) -> Response:
    """Download all that is stored about the account: what was sent, what came of it, hints, messages, browsers."""
    return download(site, account.id)


@router.get("/api/v1/tokens", responses=problems(401, 403), summary="List my tokens")
def get_tokens(site: SiteOfRequest, account: CurrentAccount) -> list[TokenOut]:
    """List the tokens that work, the newest first. The tokens themselves are not kept."""
    with site.database.read() as session:
        return [TokenOut.model_validate(token) for token in list_tokens(session, account)]


@router.post(
    "/api/v1/tokens",
    status_code=201,
    responses=problems(400, 401, 403, 413, 422),
    summary="Make a token",
)
def post_token(site: SiteOfRequest, access: CurrentAccess, body: TokenIn) -> NewToken:
    """Make a token, which is shown this once. One that is made with a token has no more scopes and no more time."""
    scopes = " ".join(body.scopes) if body.scopes is not None else None
    _require_no_more(access, scopes)
    with site.database.write() as session:
        token, raw = add_token(session, access.account, label=body.label, scopes=scopes, days=body.days)
    return NewToken(**vars(TokenOut.model_validate(token)), token=raw)


@router.delete(
    "/api/v1/tokens/{token_id}", status_code=204, responses=problems(401, 403, 404, 422), summary="Revoke a token"
)
def delete_token(site: SiteOfRequest, account: CurrentAccount, token_id: str) -> Response:
    """Revoke a token: from the next call on it is refused."""
    with site.database.write() as session:
        revoke_token(session, account, token_id)
    return Response(status_code=204)


def require_proof(site: Site, account: Account, *, password: str | None, email: str | None = None) -> None:
    """
    Have somebody who is signed in show once more who they are, before something that cannot be undone.

    Raises:
        PasswordWrong: that is not the password, or of an account without one the address.
        TooManyTries: there were too many of them.
    """
    if account.role is Role.GUEST:
        return
    site.rates.take(REAUTHENTICATIONS, account.id)
    if account.password_hash is None:
        right = email is not None and email.strip().lower() == account.email
    else:
        right = passwords.verify(password or "", account.password_hash).right
    if not right:
        raise PasswordWrong
    site.rates.forget(REAUTHENTICATIONS, account.id)


def _require_no_more(access: Access, scopes: str | None) -> None:
    """Keep a token from making one that can do more, or for longer. Raises Forbidden, TokenRefused."""
    if access.account.role is Role.GUEST:
        raise Forbidden  # the account of a guest may become somebody's: no token is to be left behind in it
    if access.token is None:
        return
    wanted = set((scopes or default_scopes(access.account)).split())
    if not access.scopes >= wanted & set(Scope):
        raise TokenRefused(reason="A token cannot make one with more scopes than it has itself.")
    if access.token.expires_at is not None:
        raise TokenRefused(reason="A token that expires cannot make another.")
