"""What only administrators see, and how one gets in without a password."""

from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from app.clock import utc_now
from app.services.accounts import access
from app.services.grading import workers
from app.web.http.site import Site
from tests.web.conftest import BROWSER

WALLS = [
    {"wall": "seccomp", "deed": "open a socket", "state": "holds", "why": ""},
    {"wall": "namespaces", "deed": "see the machine", "state": "not needed", "why": "an extra"},
]


def link_for(site: Site, role: str) -> str:
    """Make an account with this role and a link that signs it in."""
    with site.database.write() as session:
        access.add_user(session, email=f"{role}@example.org", role=role)
        return f"/sign-in/{access.create_link(session, email=f'{role}@example.org')}"


def test_link_signs_an_administrator_in(client: TestClient, site: Site) -> None:
    """Looking at it spends nothing; the button signs in, and leads to the state of the site."""
    link = link_for(site, "admin")
    with site.database.write() as session:
        workers.register(session, owner="a", slots=2, findings=WALLS)
    assert "admin@example.org" in client.get(link).text
    answer = client.post(link)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/health")
    page = client.get("/admin/health").text
    assert "1 worker with 2 slots" in page
    assert "A run cannot open a socket." in page
    assert "A run can see the machine. An extra" in page
    assert "not needed" in page


def test_link_works_once(client: TestClient, site: Site) -> None:
    """Whoever comes second is told to have a new one made."""
    link = link_for(site, "admin")
    client.post(link)
    client.cookies.clear()
    for answer in (client.post(link), client.get(link), client.get("/sign-in/made-up")):
        assert answer.status_code == 410
        assert "kelolo user link" in answer.text
    assert client.get("/api/v1/me").status_code == 401


def test_link_does_not_work_for_long(client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an hour it is as if it had never been."""
    link = link_for(site, "admin")
    later = utc_now() + timedelta(minutes=access.LINK_MINUTES, seconds=1)
    monkeypatch.setattr(access, "utc_now", lambda: later)
    assert client.post(link).status_code == 410


@pytest.mark.parametrize("role", ["student", "instructor"])
def test_others_do_not_see_the_state_of_the_site(client: TestClient, site: Site, role: str) -> None:
    """A link signs them in as well, but not into the administration."""
    answer = client.post(link_for(site, role))
    assert answer.headers["Location"] == "/"
    assert client.get("/api/v1/me").json()["role"] == role
    assert client.get("/admin/health", headers=BROWSER).status_code == 403


def test_strangers_do_not_see_the_state_of_the_site(client: TestClient) -> None:
    """Neither without a cookie nor as a guest."""
    assert client.get("/admin/health").status_code == 401
    client.get("/exercises/token-and-position-embeddings")
    assert client.get("/admin/health").status_code == 403


def test_link_stays_out_of_caches_and_logs(client: TestClient, site: Site) -> None:
    """Its address is the secret, so neither the browser nor what the page loads may keep it."""
    headers = client.get(link_for(site, "admin")).headers
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")


def test_another_site_cannot_sign_a_visitor_in(client: TestClient, site: Site) -> None:
    """Not even where a proxy makes the browser add a name and a password to every request."""
    link = link_for(site, "student")
    for more in ({}, {"Authorization": "Basic cHJveHk6eA=="}):
        assert client.post(link, headers={"Sec-Fetch-Site": "cross-site", **more}).status_code == 403
