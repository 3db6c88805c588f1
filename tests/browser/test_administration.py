"""An administrator changes a limit, finds a user and makes codes, in a real browser, on every screen."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.db import Database
from app.services.accounts import access
from app.services.plans import plans
from tests.browser.conftest import SCREENS, SignIn, violations

PAGES = ["/admin", "/admin/plans", "/admin/users", "/admin/codes", "/admin/tutor", "/admin/audit"]

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_of_administrators_are_well_made(sign_in: SignIn, address: str, data_folder: Path, screen: str) -> None:
    """No fault that axe would find, with every form open, and nothing wider than the screen."""
    page = sign_in("root@example.org", "admin", screen)
    with Database(f"sqlite:///{data_folder / 'kelolo.db'}").write() as session:
        user = access.add_user(session, email="ada@example.org", role="student")
        plans.give_plan(session, user, "pro", by=None, reason="To have something to look at")
    for path in [*PAGES, f"/admin/users/{user.id}"]:
        page.goto(address + path)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_administrator_corrects_a_limit_and_reads_what_it_means(sign_in: SignIn, complaints: list[str]) -> None:
    """A slip is told beside its field, with what was typed still there; then it is saved, and said in words."""
    page = sign_in("root@example.org", "admin")
    page.get_by_role("link", name="Plans").click()
    page.get_by_text("Change PRO").click()
    form = page.get_by_role("group", name="Checks and runs").last
    form.get_by_label("Amount", exact=True).fill("-5")
    page.get_by_role("button", name="Save PRO").click()
    expect(form.get_by_text("Write a whole number from 1")).to_be_visible()
    expect(form.get_by_label("Amount", exact=True)).to_have_value("-5")
    expect(form.get_by_label("Amount", exact=True)).to_have_accessible_description(
        "Write a whole number from 1 to 1000000."
    )
    complaints.clear()  # the console notes the status of the refused form
    form.get_by_label("Amount", exact=True).fill("700")
    page.get_by_label("Reason").last.fill("A larger class")
    page.get_by_role("button", name="Save PRO").click()
    expect(page.get_by_text("The plan was changed.")).to_be_visible()
    expect(page.get_by_text("700 checks a minute")).to_be_visible()
    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_text("“A larger class”")).to_be_visible()


def test_code_goes_from_the_administrator_to_the_student(sign_in: SignIn, address: str) -> None:
    """Made, downloaded without a second request, typed small, and the plan is there."""
    page = sign_in("root@example.org", "admin")
    page.goto(f"{address}/admin/codes")
    page.get_by_label("Name of the batch").fill("Spring course")
    page.get_by_label("Codes", exact=True).fill("2")
    page.get_by_label("Days of the plan").fill("30")
    page.get_by_role("button", name="Make codes").click()
    assert violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as text").click()
    code, _ = download.value.path().read_text().split()
    assert code in page.get_by_label("The new codes").input_value()
    student = sign_in("grace@example.org", "student", "light phone")
    student.goto(f"{address}/account/plan")
    assert violations(student) == []
    student.get_by_label("Do you have a code?").fill(code.lower().replace("-", " "))
    student.get_by_role("button", name="Redeem").click()
    expect(student.get_by_text("Your code was redeemed. You have the PRO plan until")).to_be_visible()
    page.goto(f"{address}/admin/codes")
    expect(page.get_by_text("1 unused, 1 redeemed, 0 expired, of 2")).to_be_visible()
