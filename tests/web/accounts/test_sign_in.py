"""Signing up, in and out, over HTTP: what is kept, what is not told, and how often it may be tried."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.clock import utc_now
from app.main import create_app
from app.models import Account, BrowserSession, Role
from app.services.accounts import access
from app.settings import Settings
from app.web.accounts.bootstrap_admin import BootstrapAdmin
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from tests.web.conftest import BROWSER, PAGE, SUBMISSIONS

ADA, PASSWORD = "ada@example.org", "correct horse battery"


@contextmanager
def another(client: TestClient) -> Iterator[TestClient]:
    """Give another browser before the same site."""
    yield TestClient(client.app, follow_redirects=False, raise_server_exceptions=False)


def sign_up(client: TestClient, email: str = ADA, password: str = PASSWORD, **more: str) -> Any:  # noqa: ANN401
    """Fill in the form."""
    return client.post("/sign-up", data={"email": email, "password": password, **more}, headers=BROWSER)


def sign_in(client: TestClient, email: str = ADA, password: str = PASSWORD, **more: str) -> Any:  # noqa: ANN401
    """Fill in the other form."""
    return client.post("/sign-in", data={"email": email, "password": password, **more}, headers=BROWSER)


def me(client: TestClient) -> Any:  # noqa: ANN401
    """Return who one is."""
    return client.get("/api/v1/me").json()


def letters(settings: Settings) -> list[Any]:
    """Return what is in the outbox, the oldest first."""
    files = sorted(Path(settings.data_dir / "outbox").glob("*.eml"), key=lambda file: file.stat().st_mtime_ns)
    return [message_from_bytes(file.read_bytes(), policy=default) for file in files]


def link_in(letter: Any) -> str:  # noqa: ANN401
    """Return the path of the link in a letter."""
    found = re.search(r"http://127\.0\.0\.1:8000(/\S+/\S+)", letter.get_content())
    assert found
    return found[1]


@pytest.fixture
def confirming(settings: Settings) -> Iterator[TestClient]:
    """Return a browser before a site on which addresses have to be confirmed."""
    app = create_app(settings.model_copy(update={"confirm_email": True}))
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


def test_guest_signs_up_and_keeps_the_work(client: TestClient) -> None:
    """The account is the guest's own; the cookie is a new one, and the old one opens nothing."""
    client.get(PAGE)
    before, old = me(client), client.cookies[COOKIE]
    sent = client.post(SUBMISSIONS, json={"source": "mine = 1"}).json()["id"]
    answer = sign_up(client, next=PAGE)
    assert (answer.status_code, answer.headers["Location"]) == (303, PAGE)
    after = me(client)
    assert (after["id"], after["email"], after["role"]) == (before["id"], ADA, "student")
    assert client.get(f"/api/v1/submissions/{sent}").status_code == 200
    assert client.cookies[COOKIE] != old
    with another(client) as thief:
        thief.cookies.set(COOKIE, old)
        assert thief.get("/api/v1/me").status_code == 401


def test_guest_signs_in_and_brings_the_work(client: TestClient) -> None:
    """What was sent before signing in is among the account's attempts."""
    sign_up(client)
    with another(client) as second:
        second.get(PAGE)
        sent = second.post(SUBMISSIONS, json={"source": "mine = 1"}).json()["id"]
        assert sign_in(second).status_code == 303
        assert me(second) == me(client)
    assert client.get(f"/api/v1/submissions/{sent}").status_code == 200
    assert "mine = 1" in client.get(PAGE).text


def test_signing_out_ends_the_session(client: TestClient) -> None:
    """Not only the cookie is gone: the session that it named is, too."""
    sign_up(client)
    cookie = client.cookies[COOKIE]
    assert client.post("/sign-out").status_code == 303
    assert COOKIE not in client.cookies
    client.cookies.set(COOKIE, cookie)
    assert client.get("/api/v1/me").status_code == 401


def test_wrong_password_and_unknown_address_look_the_same(client: TestClient) -> None:
    """Nobody finds out who has an account: the same status, the same words."""
    sign_up(client)
    client.post("/sign-out")
    answers = [sign_in(client, email, "not the password") for email in (ADA, "eve@example.org")]
    assert {answer.status_code for answer in answers} == {401}
    texts = {answer.text.replace(ADA, "X").replace("eve@example.org", "X") for answer in answers}
    assert len(texts) == 1
    assert "do not belong together" in texts.pop()


@pytest.mark.parametrize("email", ["", "nobody", "a\0@b", "é\ud83d@x", "x" * 5000, "ada@example.org\nBcc: all@x"])
def test_any_address_can_be_tried(client: TestClient, email: str) -> None:
    """Whatever is sent as an address, the answer is a page and no fault."""
    data = {"email": email.encode("utf-8", "replace"), "password": b"\xff\xfe long enough"}
    assert client.post("/sign-in", data=data).status_code == 401
    for path in ("/sign-up", "/forgot"):
        assert client.post(path, data=data).status_code in {422, 409}


def test_what_is_wrong_stands_beside_its_field(client: TestClient) -> None:
    """With what was typed, but for the password; and the field says so to a screen reader."""
    page = sign_up(client, "ada@example.org", "too short")
    assert page.status_code == 422
    assert 'value="ada@example.org"' in page.text
    assert "too short" not in page.text
    assert 'id="form-password-wrong"' in page.text
    assert 'aria-describedby="form-password-wrong form-password-help"' in page.text
    assert sign_up(client, "ada").status_code == 422
    sign_up(client)
    client.post("/sign-out")
    assert "Sign in with it instead" in sign_up(client).text


@pytest.mark.parametrize("there", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_signing_in_leads_nowhere_else(client: TestClient, there: str) -> None:
    """A link to the form can name where to go on, but not on another site."""
    assert sign_up(client, next=there).headers["Location"] == "/"
    client.post("/sign-out")
    assert there not in client.get("/sign-in", params={"next": there}).text
    assert sign_in(client, next=there).headers["Location"] == "/"


def test_another_site_cannot_sign_in_or_out(client: TestClient) -> None:
    """Nor up: its page has no say over who a visitor is here."""
    sign_up(client)
    for path in ("/sign-in", "/sign-up", "/sign-out", "/account/delete", "/forgot"):
        assert client.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert me(client)["email"] == ADA


def test_password_can_be_tried_ten_times(client: TestClient) -> None:
    """Then the address rests, whether it has an account or not, and says for how long; others go on."""
    sign_up(client)
    client.post("/sign-out")
    for email in (ADA, "eve@example.org"):
        assert [sign_in(client, email, "not the password").status_code for _ in range(11)] == [401] * 10 + [429]
    refused = client.post("/sign-in", data={"email": ADA, "password": PASSWORD})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 900
    assert "again in 15 minutes" in refused.json()["detail"]
    assert sign_in(client, "mallory@example.org").status_code == 401


def test_whoever_gets_in_may_mistype_again(client: TestClient) -> None:
    """The right password forgives the wrong ones before."""
    sign_up(client)
    for _ in range(3):
        assert [sign_in(client, password="wrong one here").status_code for _ in range(6)] == [401] * 6  # noqa: S106
        assert sign_in(client).status_code == 303


def test_one_place_can_try_so_many_addresses(client: TestClient) -> None:
    """A hundred failures, and then none of them gets another try."""
    statuses = [sign_in(client, f"a{number}@example.org").status_code for number in range(102)]
    assert statuses == [401] * 100 + [429] * 2


def test_class_can_sign_up_at_once(client: TestClient, site: Site) -> None:
    """Sixty from one place in an hour, and no more."""
    del site
    statuses = []
    for number in range(61):
        with another(client) as pupil:
            statuses.append(sign_up(pupil, f"pupil{number}@example.org").status_code)
    assert statuses == [303] * 60 + [429]


def test_blocked_account_is_told_so_everywhere(client: TestClient, site: Site) -> None:
    """By cookie, token and password alike; another account can still be signed in to."""
    sign_up(client)
    with site.database.write() as session:
        token = access.create_token(session, email=ADA)
        session.execute(update(Account).values(blocked_at=utc_now()))
    answers = [
        client.get(PAGE, headers=BROWSER),
        client.get("/api/v1/me"),
        client.post(SUBMISSIONS, json={"source": "x"}),
        client.get("/account"),
        sign_in(client),
    ]
    client.cookies.clear()
    answers.append(client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}))
    for answer in answers[:3] + answers[4:]:
        assert answer.status_code == 403
        assert "Nothing can be done with this account" in answer.text
    assert answers[3].headers["Location"] == "/sign-in?next=/account"
    assert sign_in(client, password="not the password").status_code == 401  # noqa: S106


def test_account_begins_with_the_confirmation(confirming: TestClient, settings: Settings) -> None:
    """Where that is asked for: until then the visitor is a guest, and in the same browser one click is enough."""
    confirming.get(PAGE)
    guest = me(confirming)
    answer = sign_up(confirming)
    assert answer.status_code == 200
    assert "Look into your mail" in answer.text
    assert me(confirming)["role"] == "guest"
    link = link_in(letters(settings)[0])
    assert 'type="password"' not in confirming.get(link).text
    assert confirming.post(link).status_code == 303
    assert me(confirming) == guest | {"email": ADA, "role": "student"}
    assert confirming.post(link).status_code == 410
    confirming.post("/sign-out")
    assert sign_in(confirming).status_code == 303


def test_owner_of_an_address_does_not_confirm_it_for_another(confirming: TestClient, settings: Settings) -> None:
    """Whoever signs up with another's address cannot have them open the link: it takes the browser or the password."""
    sign_up(confirming)
    link = link_in(letters(settings)[0])
    with another(confirming) as owner:
        assert 'type="password"' in owner.get(link).text
        assert owner.post(link).status_code == 403
        assert owner.post(link, data={"password": "a guess of mine"}).status_code == 403
        assert owner.get("/api/v1/me").status_code == 401
        assert owner.post(link, data={"password": PASSWORD}).status_code == 303
        assert me(owner)["email"] == ADA
    assert confirming.get("/api/v1/me").status_code == 401


def test_sign_up_does_not_tell_who_has_an_account(confirming: TestClient, settings: Settings) -> None:
    """Where addresses are confirmed: the same answer, and the owner of the address is told by mail."""
    sign_up(confirming)
    confirming.post(link_in(letters(settings)[0]))
    with another(confirming) as stranger:
        taken, fresh = sign_up(stranger, ADA), sign_up(stranger, "eve@example.org")
        assert (taken.status_code, taken.text.replace(ADA, "X")) == (
            fresh.status_code,
            fresh.text.replace("eve@example.org", "X"),
        )
        assert me(stranger)["role"] == "guest"
    assert [letter["Subject"] for letter in letters(settings)] == [
        "Confirm your e-mail address",
        "You have an account already",
        "Confirm your e-mail address",
    ]


def test_forgotten_password_is_replaced_by_mail(client: TestClient, settings: Settings) -> None:
    """Once; and all browsers that were signed in are signed out."""
    sign_up(client)
    with another(client) as second:
        asked = second.post("/forgot", data={"email": "Ada@example.org "}, headers={"Host": "evil.example"})
        assert asked.status_code == 200
        letter = letters(settings)[0]
        assert (letter["To"], "evil" in letter.get_content()) == (ADA, False)
        link = link_in(letter)
        assert second.get(link).headers["Referrer-Policy"] == "no-referrer"
        assert second.post(link, data={"password": "short"}).status_code == 422
        assert second.post(link, data={"password": "another long one"}).status_code == 303
        assert me(second)["email"] == ADA
        assert second.post(link, data={"password": "a third long one"}).status_code == 410
    assert client.get("/api/v1/me").status_code == 401
    assert sign_in(client).status_code == 401
    assert sign_in(client, password="another long one").status_code == 303  # noqa: S106


def test_reset_does_not_tell_who_has_an_account(client: TestClient, settings: Settings) -> None:
    """The same answer whether there is one or not; a mail only if there is."""
    sign_up(client)
    client.post("/sign-out")
    known, unknown = (client.post("/forgot", data={"email": email}) for email in (ADA, "eve@example.org"))
    assert (known.status_code, known.text.replace(ADA, "X")) == (
        unknown.status_code,
        unknown.text.replace("eve@example.org", "X"),
    )
    assert [letter["To"] for letter in letters(settings)] == [ADA]
    statuses = [client.post("/forgot", data={"email": "eve@example.org"}).status_code for _ in range(5)]
    assert statuses == [200] * 4 + [429]


def test_link_of_yesterday_works_no_more(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour is long enough to read a mail."""
    sign_up(client)
    client.post("/forgot", data={"email": ADA})
    later = utc_now() + timedelta(minutes=access.LINK_MINUTES, seconds=1)
    monkeypatch.setattr(access, "utc_now", lambda: later)
    assert client.post(link_in(letters(settings)[0]), data={"password": PASSWORD}).status_code == 410


def test_first_administrator_is_made_once(client: TestClient, site: Site) -> None:
    """By the link of the console; after that it leads nowhere."""
    link = f"/first-admin/{site.parts.get(BootstrapAdmin).open()}"
    made_up = client.get("/first-admin/made-up", headers=BROWSER)
    assert made_up.status_code == 404
    assert "the one that the server printed when it last" in made_up.text
    assert client.post("/first-admin/made-up", data={"email": ADA, "password": PASSWORD}).status_code == 404
    assert client.get(link).status_code == 200
    assert client.post(link, data={"email": ADA, "password": "short"}).status_code == 422
    answer = client.post(link, data={"email": ADA, "password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/health")
    assert client.get("/admin/health").status_code == 200
    assert client.post(link, data={"email": "eve@example.org", "password": PASSWORD}).status_code == 404
    told = client.get(link, headers=BROWSER).text
    assert "This site has an administrator already" in told
    assert link.rpartition("/")[2] not in told.partition("<main")[2]
    again = f"/first-admin/{site.parts.get(BootstrapAdmin).open()}"
    assert client.post(again, data={"email": "eve@example.org", "password": PASSWORD}).status_code == 404


def test_student_becomes_the_first_administrator(client: TestClient, site: Site) -> None:
    """Whoever signed up before reading the console gives the password of that account; another's will not do."""
    sign_up(client)
    link = f"/first-admin/{site.parts.get(BootstrapAdmin).open()}"
    with another(client) as second:
        assert second.post(link, data={"email": ADA, "password": "not the password"}).status_code == 403
        assert second.post(link, data={"email": ADA, "password": PASSWORD}).status_code == 303
        assert me(second)["role"] == "admin"


def test_without_the_console_nobody_becomes_administrator(client: TestClient) -> None:
    """A site that printed no link lets nobody in by one."""
    assert client.get("/first-admin/").status_code == 404
    assert client.get("/first-admin/None").status_code == 404


def test_every_browser_is_a_row_of_its_own(client: TestClient, site: Site) -> None:
    """So that its owner can tell them apart."""
    sign_up(client)
    with site.database.read() as session:
        rows = session.scalars(select(BrowserSession).where(BrowserSession.revoked_at.is_(None))).all()
        assert [row.browser for row in rows] == ["testclient"]
        assert session.scalars(select(Account.role)).all() == [Role.STUDENT]


def test_menu_knows_who_looks(client: TestClient, token: Callable[..., dict[str, str]]) -> None:
    """A guest is offered to sign in or up and comes back to where they were; an administrator sees the way in."""
    assert f"/sign-in?next={PAGE}" in client.get(PAGE).text.replace("%2F", "/")
    sign_up(client)
    page = client.get(PAGE).text
    assert ADA in page
    assert "/sign-in" not in page
    assert "/admin/health" not in page
    assert "Administration" in client.get(PAGE, headers=token("root@example.org", "admin")).text
