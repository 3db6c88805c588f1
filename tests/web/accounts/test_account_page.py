"""The account's own page and its API: what its owner can see, change, take along and take away."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.clients.mail import MailFailed
from app.clock import utc_now
from app.models import Account, ApiToken, BrowserSession, Submission
from app.services.accounts import access
from app.settings import Settings
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from tests.web.accounts.test_sign_in import ADA, PASSWORD, another, letters, link_in, me, sign_in, sign_up
from tests.web.conftest import PAGE, SUBMISSIONS

Token = Callable[..., dict[str, str]]
NEW = "a much better one"
EVE = "eve@example.org"


@pytest.fixture
def ada(client: TestClient) -> TestClient:
    """Return a browser in which a student is signed in."""
    sign_up(client)
    return client


def scoped(site: Site, scopes: str, role: str = "admin", **more: Any) -> dict[str, str]:  # noqa: ANN401
    """Make an account with a token for these scopes."""
    email = f"{role}@example.org"
    with site.database.write() as session:
        access.add_user(session, email=email, role=role)
        return {"Authorization": f"Bearer {access.create_token(session, email=email, scopes=scopes, **more)}"}


def test_page_is_its_owners(client: TestClient, token: Token) -> None:
    """Strangers and guests are sent to sign in, and a program has the API instead."""
    assert client.get("/account").headers["Location"] == "/sign-in?next=/account"
    client.get(PAGE)
    assert client.get("/account").headers["Location"] == "/sign-in?next=/account"
    assert client.post("/account/delete").status_code == 401
    with another(client) as program:
        program.headers.update(token())
        for path in ("delete", "tokens", "password", "email", "browsers/others/sign-out"):
            assert program.post(f"/account/{path}").status_code == 403


def test_password_is_changed_by_who_knows_it(ada: TestClient, settings: Settings) -> None:
    """All other browsers are signed out, this one gets a new cookie, and the owner is told by mail."""
    with another(ada) as second:
        sign_in(second)
        old = ada.cookies[COOKIE]
        wrong = ada.post("/account/password", data={"current": "not it at all", "password": NEW})
        assert wrong.status_code == 403
        assert 'id="password-current-wrong"' in wrong.text
        weak = ada.post("/account/password", data={"current": PASSWORD, "password": ADA})
        assert (weak.status_code, 'id="password-password-wrong"' in weak.text) == (422, True)
        assert ada.post("/account/password", data={"current": PASSWORD, "password": NEW}).status_code == 303
        assert "Your password is changed" in ada.get("/account?done=password").text
        assert second.get("/api/v1/me").status_code == 401
        second.cookies.set(COOKIE, old)
        assert second.get("/api/v1/me").status_code == 401
        assert (sign_in(second).status_code, sign_in(second, password=NEW).status_code) == (401, 303)
    assert me(ada)["email"] == ADA
    assert [letter["Subject"] for letter in letters(settings)] == ["Your password was changed"]


def test_password_cannot_be_guessed_by_who_is_signed_in(ada: TestClient) -> None:
    """A browser that somebody left open is not a way to find it out."""
    data = {"current": "not it at all", "password": NEW}
    statuses = [ada.post("/account/password", data=data).status_code for _ in range(11)]
    assert statuses == [403] * 10 + [429]


def test_address_is_changed_when_the_new_one_is_confirmed(ada: TestClient, settings: Settings) -> None:
    """Until then the old one holds; then the old one is told."""
    change = {"email": " Lovelace@example.org", "current": PASSWORD}
    assert ada.post("/account/email", data=change | {"current": "wrong wrong"}).status_code == 403
    assert ada.post("/account/email", data=change | {"email": "x"}).status_code == 422
    assert ada.post("/account/email", data=change).status_code == 200
    assert me(ada)["email"] == ADA
    letter = letters(settings)[0]
    assert letter["To"] == "lovelace@example.org"
    assert ada.post(link_in(letter)).headers["Location"] == "/account?done=email"
    assert me(ada)["email"] == "lovelace@example.org"
    assert [(one["To"], one["Subject"]) for one in letters(settings)][1:] == [(ADA, "Your e-mail address was changed")]


def test_address_of_another_is_not_told_apart(ada: TestClient, settings: Settings) -> None:
    """Changing to a taken address gives the same answer, and its owner a letter without a link to confirm."""
    with another(ada) as other:
        sign_up(other, EVE)
    pages = [ada.post("/account/email", data={"email": email, "current": PASSWORD}) for email in (EVE, "new@x.org")]
    assert pages[0].text.replace(EVE, "X") == pages[1].text.replace("new@x.org", "X")
    assert "/confirm/" not in letters(settings)[0].get_content()


def test_mail_that_cannot_be_sent_is_told(ada: TestClient, site: Site) -> None:
    """The page says so, and nothing has changed."""

    class Broken:
        def send(self, _mails: object) -> None:
            raise MailFailed

    site.mailer = Broken()
    answer = ada.post("/account/email", data={"email": EVE, "current": PASSWORD})
    assert answer.status_code == 503
    assert "could not be sent" in answer.text
    assert ada.post("/forgot", data={"email": ADA}).status_code == 200


def test_owner_sees_and_ends_the_browsers(ada: TestClient, site: Site) -> None:
    """Each by itself, or all but this one; never another's."""
    with another(ada) as second, another(ada) as third, another(ada) as stranger:
        for browser in (second, third):
            sign_in(browser)
        sign_up(stranger, EVE)
        with site.database.read() as session:
            row = session.scalars(select(BrowserSession.id).order_by(BrowserSession.created_at.desc()).limit(1)).one()
        assert ada.post(f"/account/browsers/{row}/sign-out").status_code == 404
        assert stranger.get("/api/v1/me").status_code == 200
        found = re.findall(r"/account/browsers/(\w{32})/sign-out", ada.get("/account").text)
        assert len(found) == 2
        ada.post(f"/account/browsers/{found[0]}/sign-out")
        assert sorted(one.get("/api/v1/me").status_code for one in (second, third)) == [200, 401]
        ada.post("/account/browsers/others/sign-out")
        assert [one.get("/api/v1/me").status_code for one in (second, third, ada)] == [401, 401, 200]


def test_owner_makes_and_revokes_a_token(ada: TestClient) -> None:
    """It is shown once, and works until it is revoked."""
    page = ada.post("/account/tokens", data={"label": "laptop", "scope": ["read"], "days": "30"})
    (raw,) = re.findall(r"kel_[\w-]{43}", page.text)
    assert page.headers["Cache-Control"] == "no-store"
    again = ada.get("/account").text
    assert raw not in again
    assert "laptop" in again
    with another(ada) as program:
        program.headers["Authorization"] = f"Bearer {raw}"
        assert me(program)["email"] == ADA
        (row,) = re.findall(r"/account/tokens/(\w+)/revoke", again)
        ada.post(f"/account/tokens/{row}/revoke")
        assert program.get("/api/v1/me").status_code == 401
    assert ada.post("/account/tokens", data={"label": "none"}).status_code == 422
    assert ada.post("/account/tokens", data={"label": "x" * 201, "scope": "read"}).status_code == 422


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ("read", [200, 403, 403, 403]),
        ("write", [403, 202, 403, 403]),
        ("read write", [200, 202, 403, 403]),
        ("read admin", [200, 403, 200, 403]),
        ("admin", [403, 403, 403, 403]),
        ("read write admin", [200, 202, 200, 422]),
    ],
)
def test_token_does_what_its_scopes_say(client: TestClient, site: Site, scopes: str, allowed: list[int]) -> None:
    """Reading, changing, and the administration: each has its own, and none of them gives a role."""
    client.headers.update(scoped(site, scopes))
    answers = [
        client.get("/api/v1/me"),
        client.post(SUBMISSIONS, json={"source": "x = 1"}),
        client.get("/admin/health"),
        client.post("/api/v1/tokens", json={"scopes": ["nonsense"]}) if "admin" in scopes and "write" in scopes
        else client.get("/admin/health", headers=scoped(site, "read", "student")),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == allowed
    for answer in answers:
        if answer.status_code == 403 and "admin/health" not in str(answer.url):
            assert answer.json()["type"] == "urn:kelolo:problem:scope-missing"


def test_scope_gives_no_role(client: TestClient, site: Site) -> None:
    """A student's token for the administration opens nothing."""
    answer = client.get("/admin/health", headers=scoped(site, "read write admin", "student"))
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:kelolo:problem:forbidden")


def test_token_expires(client: TestClient, site: Site) -> None:
    """After its days it is as if it had never been."""
    client.headers.update(scoped(site, "read", days=1))
    assert client.get("/api/v1/me").status_code == 200
    with site.database.write() as session:
        session.execute(update(ApiToken).values(expires_at=utc_now() - timedelta(seconds=1)))
    assert client.get("/api/v1/me").status_code == 401


def test_tokens_over_the_api(client: TestClient, site: Site) -> None:
    """Made, listed without themselves, revoked; another's are not there."""
    mine, hers = scoped(site, "read write", "student"), scoped(site, "read write", "instructor")
    made = client.post("/api/v1/tokens", json={"label": "ci", "scopes": ["read"], "days": 7}, headers=mine)
    assert made.status_code == 201
    token = made.json()
    assert (token["label"], token["scopes"]) == ("ci", ["read"])
    listed = client.get("/api/v1/tokens", headers=mine).json()
    assert [one["label"] for one in listed] == ["ci", ""]
    assert token["token"] not in json.dumps(listed)
    assert client.delete(f"/api/v1/tokens/{token['id']}", headers=hers).status_code == 404
    assert client.delete(f"/api/v1/tokens/{token['id']}", headers=mine).status_code == 204
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {token['token']}"}).status_code == 401


def test_token_makes_none_that_can_do_more(client: TestClient, site: Site) -> None:
    """Neither more scopes nor more time; and a guest, whose account may become somebody's, makes none at all."""
    writer = scoped(site, "read write")
    for wish in ({"scopes": ["admin"]}, {}):
        assert client.post("/api/v1/tokens", json=wish, headers=writer).status_code == 422
    for_a_day = scoped(site, "read write", days=1)
    assert client.post("/api/v1/tokens", json={"scopes": ["read"]}, headers=for_a_day).status_code == 422
    client.get(PAGE)
    assert client.post("/api/v1/tokens", json={"scopes": ["read"]}).status_code == 403


def test_export_is_a_download_of_everything(ada: TestClient) -> None:
    """One document, with what was sent in it."""
    ada.post(SUBMISSIONS, json={"source": "mine = 'ünï'"})
    answer = ada.get("/api/v1/me/export")
    assert "attachment" in answer.headers["Content-Disposition"]
    found = answer.json()
    assert found["account"][0]["email"] == ADA
    assert found["submission"][0]["source"] == "mine = 'ünï'"
    assert "token_hash" not in found["browser_session"][0]


def test_deleting_asks_for_the_password(ada: TestClient, site: Site) -> None:
    """Then all is gone, the cookie included, and the address is free again."""
    ada.post(SUBMISSIONS, json={"source": "mine = 1"})
    wrong = ada.post("/account/delete", data={"current": "not it at all"})
    assert (wrong.status_code, 'id="delete-current-wrong"' in wrong.text) == (403, True)
    gone = ada.post("/account/delete", data={"current": PASSWORD})
    assert "Your account is deleted" in gone.text
    assert COOKIE not in ada.cookies
    with site.database.read() as session:
        for model in (Account, Submission, BrowserSession):
            assert session.scalar(select(func.count()).select_from(model)) == 0
    assert sign_up(ada).status_code == 303


def test_account_without_a_password_is_deleted_by_its_address(client: TestClient, site: Site) -> None:
    """Typing it is enough of a second thought."""
    with site.database.write() as session:
        access.add_user(session, email=ADA, role="student")
        link = access.create_link(session, email=ADA)
    client.post(f"/sign-in/{link}")
    assert "Type your e-mail address" in client.get("/account").text
    assert client.post("/account/delete", data={"email": EVE}).status_code == 403
    assert client.post("/account/password", data={"password": NEW}).status_code == 403
    assert client.post("/account/delete", data={"email": f" {ADA.upper()}"}).status_code == 200


def test_deleting_over_the_api(client: TestClient, ada: TestClient, site: Site) -> None:
    """With the password in the body; a guest needs none."""
    assert ada.delete("/api/v1/me").status_code == 403
    assert ada.request("DELETE", "/api/v1/me", content='{"password": "\\ud800"}').status_code == 422
    assert ada.request("DELETE", "/api/v1/me", json={"password": PASSWORD}).status_code == 204
    client.get(PAGE)
    assert client.delete("/api/v1/me").status_code == 204
    with site.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Account)) == 0


def test_link_signs_in_with_the_guests_work(client: TestClient, site: Site) -> None:
    """A printed link is a way in like any other."""
    client.get(PAGE)
    sent = client.post(SUBMISSIONS, json={"source": "mine = 1"}).json()["id"]
    with site.database.write() as session:
        access.add_user(session, email=ADA, role="student")
        link = access.create_link(session, email=ADA)
    assert client.post(f"/sign-in/{link}").status_code == 303
    assert me(client)["email"] == ADA
    assert client.get(f"/api/v1/submissions/{sent}").status_code == 200
