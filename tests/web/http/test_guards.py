"""Every answer has safe headers, and no page of another site can act for a visitor."""

import re
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from app.clock import utc_now
from app.services.grading import workers
from app.settings import Settings
from app.web.http.headers import SECURITY_HEADERS
from app.web.http.templates import STATIC
from tests.web.conftest import BROWSER, PAGE, SUBMISSIONS

ADDRESSES = [
    "/",
    PAGE,
    "/submissions/no-such",
    "/submissions/no-such/events",
    "/api/docs",
    "/api/openapi.json",
    "/api/v1/me",
    "/api/v1/me/export",
    "/api/v1/tokens",
    "/api/v1/exercises/no-such/drafts",
    "/api/v1/exercises/no-such/hints",
    "/api/v1/admin/plans",
    "/api/v1/admin/users",
    "/api/v1/admin/users/no-such",
    "/api/v1/admin/codes",
    "/api/v1/admin/audit",
    "/api/v1/admin/tutor",
    "/admin",
    "/admin/audit.csv",
    "/api/v1/submissions/no-such",
    "/api/v1/submissions/no-such/events",
    "/healthz",
    "/readyz",
    "/static/css/kelolo.css",
    "/static/no-such.css",
    "/static/../app/main.py",
    "/no-such",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_the_safe_headers(client: TestClient, address: str) -> None:
    """Pages, documents, streams, files and errors alike."""
    answer = client.get(address, headers=BROWSER)
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value


def test_every_route_is_among_those_tested(client: TestClient) -> None:
    """A new route has to be added to the list above, or to the POSTs below."""
    described = client.get("/api/openapi.json").json()["paths"]
    shapes = [re.sub(r"\{\w+\}", "[^/]+", path) for path, calls in described.items() if "get" in calls]
    for shape in shapes:
        assert any(re.fullmatch(shape, address) for address in ADDRESSES), shape


def test_policy_allows_nothing_inline(client: TestClient) -> None:
    """Scripts and styles come from the site's own files only."""
    policy = client.get("/healthz").headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy


@pytest.mark.parametrize("address", [PAGE, "/api/docs", "/no-such"])
def test_pages_have_nothing_inline_and_nothing_from_elsewhere(client: TestClient, address: str) -> None:
    """What the policy would refuse isn't there in the first place."""
    page = client.get(address, headers=BROWSER).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page)
    loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"', page)
    assert loaded
    assert all(where.startswith("/static/") for where in loaded)


def test_linked_files_exist_and_may_be_kept_for_ever(client: TestClient) -> None:
    """An address with a fingerprint never changes its content."""
    page = client.get(PAGE, headers=BROWSER).text
    for where in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        answer = client.get(where)
        assert answer.status_code == 200, where
        assert "immutable" in answer.headers["Cache-Control"]


def test_committed_bundles_are_small_and_licensed() -> None:
    """The editor is below 1 MB, and each vendored part has its licence beside it."""
    assert (STATIC / "editor" / "exercise.js").stat().st_size < 1_000_000
    for folder in [STATIC / "editor", *(STATIC / "vendor").iterdir()]:
        assert any(file.name.lower().startswith("licen") for file in folder.iterdir()), folder


@pytest.mark.parametrize(
    "sent_by",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("address", [SUBMISSIONS, PAGE + "/submissions"])
def test_page_of_another_site_cannot_submit(client: TestClient, address: str, sent_by: dict[str, str]) -> None:
    """A cookie that a browser sends along by itself gives another site no power."""
    client.get(PAGE)
    answer = client.post(address, json={"source": "1"}, headers=sent_by)
    assert answer.status_code == 403
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("sent_by", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://testserver"}])
def test_own_page_and_programs_can_submit(client: TestClient, sent_by: dict[str, str]) -> None:
    """Our own pages and programs, which send no such header, are let through."""
    client.get(PAGE)
    assert client.post(SUBMISSIONS, json={"source": "1"}, headers=sent_by).status_code == 202


def test_cookie_is_out_of_reach_of_scripts(client: TestClient) -> None:
    """HttpOnly and SameSite keep the session where it belongs."""
    cookie = client.get(PAGE).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie


def test_cookie_is_for_https_alone_where_that_is_set(client: TestClient, settings: Settings) -> None:
    """An operator with HTTPS turns on `secure_cookies`."""
    app: object = client.app
    app.state.site.settings = settings.model_copy(update={"secure_cookies": True})  # type: ignore[attr-defined]
    assert "Secure" in client.get(PAGE).headers["Set-Cookie"]


def test_visitor_stays_the_same_guest(client: TestClient) -> None:
    """A second page sets no second cookie: the guest is known."""
    client.get(PAGE)
    assert "Set-Cookie" not in client.get(PAGE).headers


def test_health_and_readiness(client: TestClient) -> None:
    """Both are well while the database can be read."""
    assert client.get("/healthz").status_code == 200
    none = {"workers": 0, "slots": 0, "waiting": 0, "oldest_s": 0.0, "walls": []}
    assert client.get("/readyz").json() == {"status": "ready"} | none


def test_readiness_tells_of_workers_and_their_weakest_walls(client: TestClient) -> None:
    """Of two workers the one with the weaker wall is shown; one that has been silent for long is not counted."""
    wall = {"wall": "seccomp", "deed": "open a socket", "why": ""}
    app: object = client.app
    with app.state.site.database.write() as session:  # type: ignore[attr-defined]
        workers.register(session, owner="a", slots=2, findings=[wall | {"state": "holds"}])
        workers.register(session, owner="b", slots=1, findings=[wall | {"state": "missing"}])
        workers.register(
            session,
            owner="c",
            slots=9,
            findings=[],
            clock=lambda: utc_now() - workers.SILENT_AFTER - timedelta(seconds=1),
        )
    told = client.get("/readyz").json()
    assert (told["workers"], told["slots"]) == (2, 3)
    assert told["walls"] == [wall | {"state": "missing"}]


def test_site_without_tables_is_not_ready(client: TestClient, settings: Settings) -> None:
    """A database that was never migrated is told to whoever balances the load."""
    app: object = client.app
    site = app.state.site  # type: ignore[attr-defined]
    site.database = type(site.database)(f"sqlite:///{settings.data_dir}/empty.db")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "kelolo migrate" in answer.json()["detail"]
    assert client.get("/healthz").status_code == 200
