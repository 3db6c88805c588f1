"""The tutor and the hints in a real browser: asked, followed, limited, and let go on by an administrator."""

import pytest
from playwright.sync_api import Page, expect

from app.db import Database
from app.models import Account, Period, Rule
from app.services.plans import plans
from app.services.plans.plans import Limit
from tests.browser.conftest import BAD, SCREENS, OpenPage, SignIn, violations, write

pytestmark = pytest.mark.xdist_group("browser")

WHY = "why is pos [8, 32] and not [32, 8, 32]?"


def ask(page: Page, question: str) -> None:
    """Type a question and send it, as a person would."""
    page.get_by_label("Your question to the tutor").fill(question)
    page.get_by_role("button", name="Ask").click()


def answers(page: Page) -> int:
    """Count the answers that are complete."""
    return page.locator("#talk .rating").count()


MORE = "how to get more"  # the link beside the counter


def left(page: Page) -> str:
    """Return what the counter says."""
    return page.locator("#quota").inner_text()


def account_of(page: Page) -> str:
    """Return the id of the account that the page is shown to."""
    return page.locator("form[data-account]").get_attribute("data-account") or ""


def test_answer_streams_in_and_the_counter_goes_down(open_page: OpenPage) -> None:
    """The question stands there at once, the answer follows, and the counter says what is left, also after a reload."""
    page = open_page()
    assert left(page) == f"30 of 30 messages left, for good; {MORE}"
    ask(page, WHY)
    expect(page.locator("#talk .mine")).to_have_text(f"You asked: {WHY}")
    expect(page.locator("#talk .rating")).to_have_count(1)
    expect(page.locator("#quota")).to_have_text(f"29 of 30 messages left, for good; {MORE}")
    expect(page.get_by_label("Your question to the tutor")).to_have_value("")
    page.reload()
    assert answers(page) == 1
    assert left(page) == f"29 of 30 messages left, for good; {MORE}"


def test_source_leads_to_its_place_in_the_lesson(open_page: OpenPage) -> None:
    """The section that an answer rests on is one press away, even where the lesson is folded away."""
    page = open_page("/exercises/learnable-numbers")
    assert not page.locator(".lesson-fold .inside").is_visible()
    ask(page, "where does a character stand, what is the second table for?")
    source = page.locator("#talk .sources a").first
    source.click()
    target = page.evaluate("document.getElementById(location.hash.slice(1)).getBoundingClientRect().height")
    assert target > 0


def test_answer_is_rated(open_page: OpenPage) -> None:
    """A press says that it helped, and stays pressed after a reload."""
    page = open_page()
    ask(page, WHY)
    page.get_by_role("button", name="This helped").click()
    expect(page.get_by_text("Thank you.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="This helped")).to_have_attribute("aria-pressed", "true")


def test_limit_is_raised_by_an_administrator_in_another_window(
    open_page: OpenPage, sign_in: SignIn, data_folder: object, complaints: list[str]
) -> None:
    """At the limit the tutor says so and what goes on; once the administrator gives more, the next message goes."""
    page = open_page()
    write(page, BAD)
    page.get_by_role("button", name="Check").click()  # whoever has sent something has an account
    expect(page.get_by_text("It goes with what went wrong.")).to_be_visible()
    page.reload()
    account_id = account_of(page)
    database = Database(f"sqlite:///{data_folder}/kelolo.db")
    with database.write() as session:
        one = Limit(Rule.TUTOR_MESSAGES, 1, Period.LIFETIME)
        plans.set_override(session, session.get_one(Account, account_id), Rule.TUTOR_MESSAGES, one, by=None)
    database.dispose()
    page.reload()
    ask(page, WHY)
    expect(page.get_by_text("No messages left")).to_be_visible()
    expect(page.locator("#quota")).to_have_text(f"0 of 1 messages left, for good; {MORE}")
    ask(page, "and why is tok different?")
    expect(page.get_by_text("hints go on as before").last).to_be_visible()
    expect(page.get_by_label("Your question to the tutor")).to_have_value("and why is tok different?")
    admin = sign_in("root@example.org", "admin")
    admin.goto(f"{page.url.split('/exercises')[0]}/admin/users/{account_id}")
    admin.get_by_text("Tutor messages on top, once").click()
    admin.get_by_label("Messages", exact=True).fill("1")
    admin.get_by_role("button", name="Give these messages").click()
    expect(admin.get_by_role("status").first).to_be_visible()

    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#talk .rating")).to_have_count(2)
    complaints.clear()  # a refusal is an error to the console


def test_hint_that_fits_is_offered_and_opened(open_page: OpenPage) -> None:
    """After a mix-up the page offers the hint that goes with it; opened, it has the keyboard, and costs nothing."""
    page = open_page()
    write(page, BAD)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("It goes with what went wrong.")).to_be_visible()
    page.get_by_role("button", name="Open hint 1 of 3").click()
    expect(page.locator("#hint-1 summary")).to_be_focused()
    expect(page.get_by_text("A table does not know")).to_be_visible()
    expect(page.get_by_role("button", name="Open hint 2 of 3")).to_be_visible()
    assert left(page) == f"30 of 30 messages left, for good; {MORE}"


@pytest.mark.parametrize("screen", SCREENS)
def test_tutor_is_accessible_and_fits(open_page: OpenPage, screen: str) -> None:
    """With an answer, an open hint and what the tutor sees: nothing for axe to say, and nothing sticks out."""
    page = open_page(**SCREENS[screen])
    ask(page, WHY)
    expect(page.locator("#talk .rating")).to_have_count(1)
    page.get_by_role("button", name="Open hint").click()
    expect(page.locator("#hint-1")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="What the tutor sees").click()
    expect(page.get_by_role("heading", name="What the tutor sees")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
