"""What strangers can do to those who have an account, or nothing yet: lock out, void links, find out, get anew."""

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import pytest
from httpx2 import ASGITransport, AsyncClient
from pydantic import SecretStr
from sqlalchemy import func, select
from starlette.requests import Request
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.clients.mail import Mail
from app.main import create_app
from app.models import Account, BrowserSession, Rule, Submission
from app.services.accounts.access import guest_without_row
from app.services.keyed_hash import KEY_FILE, keyed_hash_for
from app.services.plans import quotas
from app.settings import Settings
from app.web.auth.dependencies import COOKIE
from app.web.http.site import Site
from app.web.limits.rate_limits import network_of
from tests.web.accounts.test_sign_in import ADA, PASSWORD, letters, link_in, me, sign_in, sign_up
from tests.web.conftest import EXERCISE, PAGE, SUBMISSIONS

Finish = Callable[[Coroutine[Any, Any, Any]], Any]
FORM = f"/exercises/{EXERCISE}/submissions"


@contextmanager
def browser_at(client: TestClient, address: str) -> Iterator[TestClient]:
    """Give another browser before the same site, at another address."""
    yield TestClient(client.app, client=(address, 1), follow_redirects=False, raise_server_exceptions=False)


def rows(site: Site, model: type[Account | BrowserSession | Submission]) -> int:
    """Count the rows of a table."""
    with site.database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_stranger_does_not_lock_the_owner_out(client: TestClient) -> None:
    """Wrong passwords count for the stranger's network: the owner signs in elsewhere, on a device that is new too."""
    sign_up(client)
    with browser_at(client, "203.0.113.9") as stranger:
        assert [sign_in(stranger, password=f"wrong {n} here").status_code for n in range(11)] == [401] * 10 + [429]
    with browser_at(client, "198.51.100.7") as owner:
        assert sign_in(owner).status_code == 303


def test_flood_of_passwords_keeps_nobody_elsewhere_out(settings: Settings, finish: Finish) -> None:
    """An owner who signs in from another network meanwhile gets in, although most of the flood is still in line."""
    app = create_app(settings)
    with TestClient(app, follow_redirects=False) as client:
        sign_up(client)

    async def story() -> tuple[int, int]:
        async with AsyncExitStack() as stack:

            async def browser(address: str) -> AsyncClient:
                transport = ASGITransport(app, client=(address, 1))
                return await stack.enter_async_context(AsyncClient(transport=transport, base_url="http://testserver"))

            async def attempt(browser: AsyncClient, email: str, password: str) -> int:
                return (await browser.post("/sign-in", data={"email": email, "password": password})).status_code

            strangers = [await browser(f"203.0.{number}.9") for number in range(3)]
            flood = [
                asyncio.create_task(attempt(stranger, f"nobody{number}@example.org", "wrong one here"))
                for number in range(8)
                for stranger in strangers
            ]
            await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
            status = await attempt(await browser("198.51.100.7"), ADA, PASSWORD)
            waiting = sum(not task.done() for task in flood)
            for task in flood:
                task.cancel()
            await asyncio.gather(*flood, return_exceptions=True)
            return status, waiting

    status, waiting = finish(story())
    assert status == 303
    assert waiting >= 8


def test_known_device_has_a_count_of_its_own(client: TestClient) -> None:
    """In the network of the stranger too, and although a hundred tries have closed that network."""
    with browser_at(client, "203.0.113.5") as owner, browser_at(client, "203.0.113.9") as stranger:
        sign_up(owner)
        owner.post("/sign-out")
        for number in range(12):
            sign_in(stranger, password="wrong one here")  # noqa: S106
            for _ in range(9):
                sign_in(stranger, f"nobody{number}@example.org", "wrong one here")
        assert sign_in(stranger, "somebody@example.org").status_code == 429
        assert sign_in(owner).status_code == 303
        owner.post("/sign-out")
        assert [sign_in(owner, password="wrong one here").status_code for _ in range(11)] == [401] * 10 + [429]  # noqa: S106


def test_device_of_one_account_is_no_device_of_another(client: TestClient) -> None:
    """Nor can anybody make up one: tries then count as a stranger's."""
    sign_up(client)
    with browser_at(client, "203.0.113.9") as stranger:
        sign_up(stranger, "eve@example.org")
        stranger.post("/sign-out")
        (name, value) = next((n, v) for n, v in stranger.cookies.items() if n.startswith("kelolo_device_"))
        mine = next(n for n in client.cookies if n.startswith("kelolo_device_"))
        assert mine != name
        statuses = []
        for number in range(11):
            stranger.cookies.set(mine, value if number % 2 else f"{number:032}.{number:032}", path="/sign-in")
            statuses.append(sign_in(stranger, password="wrong one here").status_code)  # noqa: S106
        assert statuses == [401] * 10 + [429]


def test_last_three_links_stay_good(client: TestClient, settings: Settings) -> None:
    """A stranger who asks for a new password too does not take the owner's link away; the fourth does."""
    sign_up(client)
    client.post("/sign-out")
    with browser_at(client, "203.0.113.9") as stranger:
        for _ in range(4):
            stranger.post("/forgot", data={"email": ADA})
    links = [link_in(letter) for letter in letters(settings)]
    assert [client.get(link).status_code for link in links] == [410, 200, 200, 200]
    assert client.post(links[1], data={"password": "another long one"}).status_code == 303
    assert [client.get(link).status_code for link in links] == [410] * 4


def test_changed_password_voids_all_links(client: TestClient, settings: Settings) -> None:
    """Whoever has read the mail of yesterday gets in no more."""
    sign_up(client)
    for _ in range(2):
        client.post("/forgot", data={"email": ADA})
    changed = client.post("/account/password", data={"current": PASSWORD, "password": "another long one"})
    assert changed.status_code == 303
    assert [client.get(link_in(letter)).status_code for letter in letters(settings)[:2]] == [410, 410]


def used(site: Site, email: str) -> int:
    """Return how many messages count for an account."""
    with site.database.read() as session:
        account = session.scalars(select(Account).where(Account.email == email)).one()
        return quotas.quota_of(session, account).used


def test_signing_up_again_gives_nothing_anew(client: TestClient, site: Site) -> None:
    """What was used under an address is still used; under another it is not, and no address is kept as such."""
    for _ in range(2):  # and it adds up
        sign_up(client)
        with site.database.write() as session:
            account = session.scalars(select(Account).where(Account.email == ADA)).one()
            for _ in range(7):
                assert quotas.take(session, account, Rule.TUTOR_MESSAGES)
        assert client.post("/account/delete", data={"current": PASSWORD}).status_code == 200
    dump = "\n".join(site.database.engine.raw_connection().driver_connection.iterdump())  # type: ignore[union-attr]
    assert ADA not in dump
    sign_up(client)
    assert used(site, ADA) == 14
    client.post("/sign-out")
    sign_up(client, "eve@example.org")
    assert used(site, "eve@example.org") == 0


def test_key_of_hashes_is_made_once_and_kept_from_others(settings: Settings) -> None:
    """In the data folder, for its owner alone; a key of the settings goes before it."""
    first = keyed_hash_for(settings).of("address", ADA)
    assert keyed_hash_for(settings).of("address", ADA) == first
    assert (settings.data_dir / KEY_FILE).stat().st_mode & 0o777 == 0o600
    given = settings.model_copy(update={"secret_key": SecretStr("0123456789abcdef")})
    assert keyed_hash_for(given).of("address", ADA) != first
    assert "SECRET_KEY" not in "".join(given.environment())


class Sent:
    """A mail server that takes everything at once."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.mails: list[Mail] = []

    def send(self, mails: Any) -> None:  # noqa: ANN401  as the mailer has it
        """Take them."""
        self.mails += mails


@pytest.fixture
def mailing(settings: Settings) -> Iterator[TestClient]:
    """Return a browser before a site that has a mail server, and is otherwise as it comes."""
    app = create_app(settings.model_copy(update={"smtp_url": SecretStr("smtp://mail.example.org")}))
    app.state.site.mailer = Sent()
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


def test_sign_up_tells_nobody_who_has_an_account_where_there_is_mail(mailing: TestClient) -> None:
    """Without any setting: the same answer for an address that is taken and one that is not, and the owner is told."""
    app: Any = mailing.app
    with app.state.site.database.write() as session:
        session.add(Account(email=ADA, role="student"))
    taken, fresh = sign_up(mailing, ADA), sign_up(mailing, "eve@example.org")
    assert (taken.status_code, taken.text.replace(ADA, "X")) == (200, fresh.text.replace("eve@example.org", "X"))
    assert [mail.subject for mail in app.state.site.mailer.mails] == [
        "You have an account already",
        "Confirm your e-mail address",
    ]


def test_sign_up_takes_as_long_for_an_address_that_is_taken(mailing: TestClient) -> None:
    """The same work is done for both: the same statements, and mail only after the answer."""
    app: Any = mailing.app
    with app.state.site.database.write() as session:
        session.add(Account(email=ADA, role="student"))
    times: dict[str, list[float]] = {ADA: [], "eve@example.org": []}
    for number in range(24):
        email = (ADA, "eve@example.org")[number % 2]
        mailing.cookies.clear()
        begun_s = time.perf_counter()
        assert sign_up(mailing, email).status_code == 200
        times[email].append(time.perf_counter() - begun_s)
    quick, slow = sorted(statistics.median(some) for some in times.values())
    assert slow < 2 * quick


def test_looking_around_makes_no_row(client: TestClient, site: Site) -> None:
    """Pages leave nothing but a cookie; the first thing that is sent makes the guest whom it names."""
    for path in (PAGE, "/", PAGE, "/account/plan", f"/exercises/{EXERCISE}/tutor/sees"):
        client.get(path)
    assert (rows(site, Account), rows(site, BrowserSession)) == (0, 0)
    assert me(client)["role"] == "guest"
    assert rows(site, Account) == 0
    assert client.post(FORM, data={"source": "mine = 1"}).status_code == 303
    assert rows(site, Account) == 1
    assert guest_without_row(client.cookies[COOKIE]).id == me(client)["id"]
    assert "mine = 1" in client.get(PAGE).text


def test_cookie_of_a_guest_who_became_somebody_opens_nothing(client: TestClient, site: Site) -> None:
    """Planted beforehand or found afterwards: it makes a new guest, of another account."""
    client.get(PAGE)
    planted = client.cookies[COOKIE]
    sign_up(client)
    ada = me(client)
    with browser_at(client, "203.0.113.9") as thief:
        thief.cookies.set(COOKIE, planted)
        assert thief.get("/api/v1/me").status_code == 401
        assert thief.post(SUBMISSIONS, json={"source": "x"}).status_code == 401
        assert thief.post(FORM, data={"source": "x"}).status_code == 303
        assert rows(site, Account) == 2
    assert me(client) == ada


def test_guests_of_a_network_wait_five_at_once(settings: Settings) -> None:
    """Whatever cookies they drop: the sixth is told so, and another network is taken in."""
    app = create_app(settings.model_copy(update={"queue_limit": 200}))
    with TestClient(app, follow_redirects=False) as client:
        statuses = []
        for number in range(7):
            with browser_at(client, f"203.0.113.{number}") as guest:
                statuses.append(guest.post(FORM, data={"source": "1"}).status_code)
        assert statuses == [303] * 5 + [429] * 2
        with browser_at(client, "198.51.100.1") as guest:
            assert guest.post(FORM, data={"source": "1"}).status_code == 303


def test_new_guests_of_a_network_are_as_many_as_is_set(settings: Settings) -> None:
    """The next is told when to come back; who is a guest already goes on, and another network is let in."""
    app = create_app(settings.model_copy(update={"guests_per_hour": 2, "queue_limit": 200}))
    with TestClient(app, follow_redirects=False) as client:
        with browser_at(client, "203.0.113.1") as first:
            assert first.post(FORM, data={"source": "1"}).status_code == 303
            with browser_at(client, "203.0.113.2") as second:
                assert second.post(FORM, data={"source": "1"}).status_code == 303
            with browser_at(client, "203.0.113.3") as third:
                refused = third.post(FORM, data={"source": "1"})
            assert (refused.status_code, refused.headers["Retry-After"].isdecimal()) == (429, True)
            assert first.post(FORM, data={"source": "1"}).status_code == 303
        with browser_at(client, "198.51.100.1") as guest:
            assert guest.post(FORM, data={"source": "1"}).status_code == 303


def test_privacy_page_says_what_is_kept_and_until_when(client: TestClient) -> None:
    """It is linked from the pages, and names the spans that the code keeps to."""
    assert 'href="/privacy"' in client.get("/sign-up").text
    page = client.get("/privacy").text
    for said in ("keyed hash of your e-mail address", "24 months", "24 hours", "90 days", "after 7 days"):
        assert said in page


@pytest.mark.parametrize(
    ("peer", "forwarded", "network"),
    [
        ("10.0.0.5", "198.51.100.9", "198.51.100.0/24"),
        ("10.0.0.5", "6.6.6.6, 198.51.100.9", "198.51.100.0/24"),
        ("10.0.0.5", "6.6.6.6, 198.51.100.9, 10.0.0.7", "198.51.100.0/24"),
        ("203.0.113.4", "198.51.100.9", "203.0.113.0/24"),
        ("10.0.0.5", "2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"),
    ],
)
def test_client_does_not_write_its_own_address(
    peer: str, forwarded: str, network: str, finish: Callable[[Any], Any]
) -> None:
    """Of several hops the last counts that is no proxy of ours; what stands before it, anybody may have written."""
    settings = Settings(forwarded_allow_ips="10.0.0.0/8")
    found: list[str] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:  # noqa: ANN401
        found.append(network_of(Request(scope)))

    proxied: Any = ProxyHeadersMiddleware(app, trusted_hosts=settings.forwarded_allow_ips)
    headers = [(b"x-forwarded-for", forwarded.encode())]
    finish(proxied({"type": "http", "scheme": "http", "client": (peer, 1), "headers": headers}, None, None))
    assert found == [network]
