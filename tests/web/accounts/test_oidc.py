"""Signing in through another site: what it says is believed when it holds, and not one thing more."""

import hmac
import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from pydantic import SecretStr
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.clock import utc_now
from app.main import create_app
from app.models import Account, Identity, Role
from app.services.accounts import access
from app.settings import Settings
from app.web.accounts.oidc import COOKIE as ERRAND
from app.web.http.site import Site
from tests.web.accounts.test_sign_in import ADA, another, me, sign_in, sign_up
from tests.web.conftest import BROWSER, PAGE, SUBMISSIONS
from tests.web.provider import CLIENT, SECRET, FakeProvider


@pytest.fixture(scope="session")
def keys() -> list[RSAKey]:
    """Make two keys, which takes long enough to do it once."""
    return [RSAKey.generate_key(2048, {"kid": kid}) for kid in ("first", "second")]


@pytest.fixture
def provider(keys: list[RSAKey]) -> Iterator[FakeProvider]:
    """Start a provider that signs with the first key."""
    started = FakeProvider(keys[0])
    yield started
    started.stop()


@pytest.fixture
def settings(settings: Settings, provider: FakeProvider) -> Settings:
    """Return settings that name the provider."""
    named = {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SecretStr(SECRET),
        "oidc_title": "Example University",
    }
    return settings.model_copy(update=named)


Visit = Callable[..., Any]


@pytest.fixture
def visit(client: TestClient, provider: FakeProvider) -> Visit:
    """Return a function that goes to the provider and back."""

    def go(browser: TestClient = client, **changes: str) -> Any:  # noqa: ANN401
        start = browser.get("/oidc/start", params={"next": PAGE})
        assert start.status_code == 303
        return browser.get("/oidc/callback", params=provider.log_in(start.headers["Location"]) | changes)

    return go


def test_newcomer_gets_an_account_and_keeps_the_work(client: TestClient, visit: Visit) -> None:
    """The guest's own account becomes it, confirmed, and one goes on to where one came from."""
    client.get(PAGE)
    client.post(SUBMISSIONS, json={"source": "mine = 1"})
    guest = me(client)
    answer = visit()
    assert (answer.status_code, answer.headers["Location"]) == (303, PAGE)
    assert me(client) == guest | {"email": ADA, "role": "student"}
    assert ERRAND not in client.cookies


def test_one_comes_back_to_the_same_account(client: TestClient, provider: FakeProvider, visit: Visit) -> None:
    """By what the other site calls one: the address may have changed meanwhile."""
    visit()
    first = me(client)
    provider.claims["email"] = "lovelace@example.org"
    with another(client) as elsewhere:
        visit(elsewhere)
        assert me(elsewhere) == first


def test_account_with_the_same_address_is_ones_own(client: TestClient, site: Site, visit: Visit) -> None:
    """One that had been confirmed stays as it is, with its password."""
    sign_up(client)
    with site.database.write() as session:
        session.execute(update(Account).values(confirmed_at=utc_now()))
    with another(client) as elsewhere:
        visit(elsewhere)
        assert me(elsewhere) == me(client)
        assert sign_in(elsewhere).status_code == 303


def test_whoever_was_there_without_proof_is_shut_out(client: TestClient, visit: Visit) -> None:
    """Somebody signed up with another's address and waited: neither browser, password nor token works any more."""
    sign_up(client)
    token = client.post("/api/v1/tokens", json={}).json()["token"]
    with another(client) as owner:
        visit(owner)
        assert me(owner)["email"] == ADA
    assert client.get("/api/v1/me").status_code == 401
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert sign_in(client).status_code == 401


@pytest.mark.parametrize("role", ["instructor", "admin"])
def test_instructors_are_not_found_by_address(client: TestClient, site: Site, visit: Visit, role: str) -> None:
    """They sign in first, and then link: that makes the other site a way in."""
    with site.database.write() as session:
        access.add_user(session, email=ADA, role=role)
        link = access.create_link(session, email=ADA)
    with another(client) as stranger:
        refused = visit(stranger)
        assert refused.status_code == 403
        assert "link it on the page of your account" in refused.json()["detail"]
    client.post(f"/sign-in/{link}")
    assert "Link Example University" in client.get("/account").text
    assert visit().status_code == 303
    with another(client) as elsewhere:
        visit(elsewhere)
        assert me(elsewhere)["role"] == role


def test_account_links_any_address_while_signed_in(
    client: TestClient, provider: FakeProvider, site: Site, visit: Visit
) -> None:
    """And forgets the link again; one that is another's is refused."""
    provider.claims |= {"email": None, "email_verified": None}
    sign_up(client)
    assert visit().status_code == 303
    with another(client) as second:
        sign_up(second, "eve@example.org")
        assert visit(second).status_code == 403
    with site.database.read() as session:
        row = session.scalars(select(Identity)).one()
    assert client.post(f"/account/identities/{row.id}/unlink").status_code == 303
    with another(client) as third:
        assert visit(third).status_code == 403


@pytest.mark.parametrize(
    "claims",
    [{"email_verified": False}, {"email_verified": "true"}, {"email_verified": None}, {"email": None}, {"email": "x"}],
)
def test_address_that_is_not_confirmed_is_nobodys(
    client: TestClient, provider: FakeProvider, site: Site, visit: Visit, claims: dict[str, Any]
) -> None:
    """Anybody can write anybody's address into a profile."""
    provider.claims |= claims
    sign_up(client)
    with another(client) as stranger:
        answer = visit(stranger)
        assert answer.status_code == 403
        assert "has not been confirmed" in answer.json()["detail"]
    with site.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Identity)) == 0


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"sub": None},
        {"sub": ""},
    ],
)
def test_token_that_does_not_hold_is_refused(
    client: TestClient, provider: FakeProvider, visit: Visit, claims: dict[str, Any]
) -> None:
    """Made for another, by another, for another visit, or too old."""
    provider.claims |= claims
    answer = visit()
    assert answer.status_code == 403
    assert "could not be verified" in answer.json()["detail"]
    assert client.get("/api/v1/me").status_code == 401


def test_signature_that_is_not_the_providers_is_refused(
    client: TestClient, provider: FakeProvider, visit: Visit, keys: list[RSAKey]
) -> None:
    """None at all, another's, one made with the public key as a secret, or one that was tampered with."""

    def plain(data: bytes) -> str:
        return urlsafe_b64encode(data).rstrip(b"=").decode()

    def none(claims: dict[str, Any]) -> str:
        head = json.dumps({"alg": "none"}).encode()
        return f"{plain(head)}.{plain(json.dumps(claims).encode())}."

    def by_public_key(claims: dict[str, Any]) -> str:
        head = json.dumps({"alg": "HS256", "kid": "first"}).encode()
        signed = f"{plain(head)}.{plain(json.dumps(claims).encode())}"
        return f"{signed}.{plain(hmac.digest(provider.key.as_pem(private=False), signed.encode(), 'sha256'))}"

    def tampered(claims: dict[str, Any]) -> str:
        head, _, signature = provider.signed(claims).split(".")
        body = urlsafe_b64encode(json.dumps(claims | {"sub": "8"}).encode()).rstrip(b"=").decode()
        return f"{head}.{body}.{signature}"

    forgeries: list[Callable[[dict[str, Any]], str]] = [
        none,
        tampered,
        lambda claims: jwt.encode({"alg": "RS256", "kid": "first"}, claims, keys[1]),
        by_public_key,
        lambda _claims: "garbage",
    ]
    for forge in forgeries:
        provider.sign = forge
        assert visit().status_code == 403
    assert client.get("/api/v1/me").status_code == 401


def test_new_key_of_the_provider_is_fetched(
    client: TestClient, provider: FakeProvider, visit: Visit, keys: list[RSAKey]
) -> None:
    """Keys change; the next who signs in does not notice."""
    visit()
    client.post("/sign-out")
    provider.key = keys[1]
    assert visit().status_code == 303


@pytest.mark.parametrize("changes", [{"state": "another"}, {"state": ""}, {"code": "made-up"}, {"code": ""}])
def test_answer_that_was_not_asked_for_is_refused(client: TestClient, visit: Visit, changes: dict[str, str]) -> None:
    """Another's state, or a code that the provider has not given."""
    assert visit(**changes).status_code == 403
    assert client.get("/api/v1/me").status_code == 401


def test_stolen_answer_is_of_no_use_elsewhere(client: TestClient, provider: FakeProvider) -> None:
    """It fits the browser that began and no other, even one that has begun itself; and it fits once."""
    query = provider.log_in(client.get("/oidc/start").headers["Location"])
    with another(client) as thief:
        assert thief.get("/oidc/callback", params=query).status_code == 403
        thief.get("/oidc/start")
        assert thief.get("/oidc/callback", params=query).status_code == 403
        kept = json.loads(urlsafe_b64decode(thief.cookies[ERRAND]))
        planted = query | {"state": kept["state"]}
        assert thief.get("/oidc/callback", params=planted).status_code == 403


@pytest.mark.parametrize("kept", ["", "garbage", "eyJhIjoxfQ==", "W10=", "é"])
def test_what_the_browser_keeps_may_be_anything(client: TestClient, kept: str) -> None:
    """It is told to begin again."""
    headers = {"Cookie": f"{ERRAND}={kept}".encode()}
    answer = client.get("/oidc/callback", params={"state": "a", "code": "b"}, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/realm/.well-known/openid-configuration", (500, {})),
        ("/realm/.well-known/openid-configuration", (200, b"<html>")),
        ("/realm/.well-known/openid-configuration", (200, {"issuer": "https://evil.example"})),
        ("/realm/.well-known/openid-configuration", (200, [])),
        ("/realm/token", (502, b"bad gateway")),
        ("/realm/keys", (200, {"nothing": 1})),
    ],
)
def test_provider_that_does_not_do_its_part_is_told(
    client: TestClient, provider: FakeProvider, visit: Visit, path: str, answer: tuple[int, Any]
) -> None:
    """In a sentence, and whoever runs the site finds the reason in the log."""
    provider.answers[path] = answer
    start = client.get("/oidc/start", headers=BROWSER)
    if start.status_code == 303:
        start = client.get("/oidc/callback", params=provider.log_in(start.headers["Location"]), headers=BROWSER)
    assert start.status_code == 502
    assert "Example University" in start.text


def test_blocked_account_is_not_opened_from_elsewhere(client: TestClient, site: Site, visit: Visit) -> None:
    """The other site's word is a way in like any other."""
    visit()
    client.post("/sign-out")
    with site.database.write() as session:
        session.execute(update(Account).where(Account.role == Role.STUDENT).values(blocked_at=utc_now()))
    answer = visit()
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:kelolo:problem:account-blocked")


def test_without_a_provider_there_is_no_such_way(settings: Settings) -> None:
    """Neither the pages nor the buttons."""
    app = create_app(settings.model_copy(update={"oidc_issuer": ""}))
    with TestClient(app, follow_redirects=False) as client:
        assert client.get("/oidc/start").status_code == 404
        assert client.get("/oidc/callback").status_code == 404
        assert "/oidc" not in client.get("/sign-in").text
