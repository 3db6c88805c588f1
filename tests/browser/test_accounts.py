"""A guest signs up, comes back elsewhere, and finds the work there, in a real browser."""

import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import BAD, PAGE, SCREENS, OpenPage, editor_of, violations, write

PASSWORD = "correct horse battery"  # noqa: S105  of a test's own account

pytestmark = pytest.mark.xdist_group("browser")


def fill(page: Page, email: str, password: str) -> None:
    """Fill in the form of signing in or up, and send it."""
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_label("Password", exact=True).press("Enter")


def address_of_somebody() -> str:
    """Return an address that no other test has."""
    return f"ada.{uuid4().hex[:8]}@example.org"


@pytest.mark.parametrize("screen", SCREENS)
def test_guest_signs_up_and_finds_the_work_elsewhere(open_page: OpenPage, screen: str) -> None:
    """From the exercise by the bar to an account and back to the exercise; then in another browser."""
    email = address_of_somebody()
    page = open_page(**SCREENS[screen])
    write(page, BAD)
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".verdict")).to_be_visible()
    page.get_by_role("link", name="Sign up").click()
    assert violations(page) == []
    fill(page, email, PASSWORD)
    expect(page.locator("summary", has_text=email)).to_be_attached()
    assert PAGE in page.url or "/submissions/" in page.url
    expect(editor_of(page)).to_contain_text("pos_emb(x)")
    page.locator(".menu summary").click()
    assert violations(page) == []
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()

    elsewhere = open_page("/sign-in", **SCREENS[screen])
    fill(elsewhere, email, PASSWORD)
    elsewhere.goto(re.sub(r"(https?://[^/]+).*", rf"\1{PAGE}", elsewhere.url))
    expect(editor_of(elsewhere)).to_contain_text("pos_emb(x)")


@pytest.mark.parametrize("screen", SCREENS)
def test_what_is_wrong_is_shown_beside_its_field(open_page: OpenPage, complaints: list[str], screen: str) -> None:
    """The field with the fault has the focus, what was typed is there, and a password never is."""
    page = open_page("/sign-up", **SCREENS[screen])
    email = address_of_somebody()
    fill(page, email, "short")
    expect(page.get_by_text("A password has at least 10 characters.")).to_be_visible()
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    expect(page.get_by_label("Password", exact=True)).to_have_value("")
    expect(page.get_by_label("E-mail address")).to_have_value(email)
    assert violations(page) == []
    page.goto(page.url.replace("/sign-up", "/sign-in"))
    fill(page, email, "not the password")
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    complaints.clear()  # the browser reports each status of an error


@pytest.mark.parametrize("screen", SCREENS)
def test_account_page_has_no_fault(open_page: OpenPage, screen: str) -> None:
    """With everything that can be unfolded, on every screen; and a token that was made just now."""
    page = open_page("/sign-up?next=/account", **SCREENS[screen])
    fill(page, address_of_somebody(), PASSWORD)
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()
    assert violations(page) == []
    for summary in page.locator(".more > summary").all():
        summary.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("What it is for").fill("laptop")
    page.get_by_role("button", name="Make the token").click()
    expect(page.get_by_label("The token")).to_have_value(re.compile(r"^kel_"))
    assert violations(page) == []


def test_everything_works_without_javascript(open_page: OpenPage) -> None:
    """The menu opens, the forms are sent, and one is signed out again."""
    page = open_page("/", java_script_enabled=False)
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("main").get_by_role("link", name="Sign up").click()
    email = address_of_somebody()
    fill(page, email, PASSWORD)
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Your account").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def test_menu_closes_by_escape_and_by_a_click_elsewhere(open_page: OpenPage) -> None:
    """And the keyboard's focus is back where it was."""
    page = open_page("/sign-up?next=/account")
    fill(page, address_of_somebody(), PASSWORD)
    summary, panel = page.locator(".menu summary"), page.locator(".menu .panel")
    summary.click()
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(summary).to_be_focused()
    summary.click()
    page.get_by_role("heading", name="Your account").click()
    expect(panel).to_be_hidden()


def test_forgotten_password_is_replaced_by_the_mailed_link(open_page: OpenPage, data_folder: Path) -> None:
    """From the form over the outbox to being signed in."""
    email = address_of_somebody()
    page = open_page("/sign-up")
    fill(page, email, PASSWORD)
    elsewhere = open_page("/sign-in")
    elsewhere.get_by_role("link", name="Forgotten the password?").click()
    elsewhere.get_by_label("E-mail address").fill(email)
    elsewhere.get_by_role("button", name="Send the link").click()
    expect(elsewhere.get_by_role("heading", name="Look into your mail")).to_be_visible()
    assert violations(elsewhere) == []
    letters = [file.read_text() for file in (data_folder / "outbox").glob("*.eml") if email in file.read_text()]
    (link,) = re.findall(r"http://\S+/reset/\S+", letters[0])
    elsewhere.goto(link)
    assert violations(elsewhere) == []
    elsewhere.get_by_label("New password").fill("another long one")
    elsewhere.get_by_role("button", name="Set the password").click()
    expect(elsewhere.locator("summary", has_text=email)).to_be_attached()
    page.reload()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
