"""An administrator gets in by a link and sees who grades and which walls hold, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.db import Database
from app.services.accounts import access
from tests.browser.conftest import SCREENS, OpenPage, violations

LOOKS = 120  # a minute

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("screen", SCREENS)
def test_administrator_sees_that_the_walls_hold(
    open_page: OpenPage, address: str, data_folder: Path, screen: str
) -> None:
    """From the link over one button to the page, without a fault that axe would find, on every screen."""
    with Database(f"sqlite:///{data_folder / 'kelolo.db'}").write() as session:
        access.add_user(session, email="root@example.org", role="admin")
        link = f"/sign-in/{access.create_link(session, email='root@example.org')}"
    page = open_page(link, **SCREENS[screen])
    assert violations(page) == []
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    for _ in range(LOOKS):  # the worker may still be being started
        if page.get_by_text("seccomp").is_visible():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(page.get_by_text("A run cannot open a socket")).to_be_visible()
    assert page.get_by_text("missing", exact=True).count() == 0
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.url == f"{address}/admin/health"
