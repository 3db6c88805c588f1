"""A way through a course: from the first page through questions of every kind, in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENS, OpenPage, violations

pytestmark = pytest.mark.xdist_group("browser")


def check(page: Page) -> None:
    """Press the one button of a question."""
    page.get_by_role("button", name="Check answer").click()


def is_right(page: Page) -> None:
    """See that the answer is right."""
    expect(page.get_by_role("heading", name="That’s right")).to_be_visible()


def fits(page: Page) -> bool:
    """Say whether nothing sticks out sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("javascript", [True, False])
def test_one_question_leads_to_the_next_until_the_course_shows_it(open_page: OpenPage, *, javascript: bool) -> None:
    """A number, a choice, a shape and a choice of several, each answered; the first page says what is done."""
    page = open_page("/", java_script_enabled=javascript)
    page.get_by_role("link", name="How much memory does it take?").click()
    page.get_by_role("textbox", name="Your answer").fill("6000 * 250 * 4 / 10**6")
    check(page)
    is_right(page)
    page.get_by_role("link", name="Next").click()
    page.get_by_label("Rows 10 and 58").check()
    check(page)
    is_right(page)
    page.get_by_role("link", name="Next").click()
    page.get_by_role("textbox", name="Your answer").fill("[4, 6, 16]")
    page.get_by_role("textbox", name="Your answer").press("Enter")
    is_right(page)
    page.get_by_role("link", name="Next").click()
    page.get_by_label("The id").check()
    page.get_by_label("The token row").check()
    check(page)
    is_right(page)
    page.get_by_role("link", name="Questions about tables").click()
    expect(page.get_by_text("4 of 5 done")).to_be_visible()
    expect(page.locator("[data-progress=done]")).to_have_count(4)
    expect(page.get_by_role("link", name="Continue")).to_be_visible()


def test_wrong_answer_is_kept_and_can_be_put_right(open_page: OpenPage) -> None:
    """The mix-up is named, the answer stays; an earlier one comes back from the list."""
    page = open_page("/exercises/how-many-numbers")
    field = page.get_by_role("textbox", name="Your answer")
    field.fill("27 + 48")
    check(page)
    expect(page.get_by_role("heading", name="A likely mix-up")).to_be_visible()
    expect(field).to_have_value("27 + 48")
    field.fill("27 * 48")
    check(page)
    is_right(page)
    page.get_by_text("Earlier attempts").click()
    page.get_by_role("link", name="Not yet right").click()
    expect(page.get_by_role("heading", name="A likely mix-up")).to_be_visible()
    expect(field).to_have_value("27 + 48")


def test_earlier_choice_comes_back(open_page: OpenPage) -> None:
    """The options of an earlier attempt are chosen again, and the others are not."""
    page = open_page("/exercises/what-stays")
    page.get_by_label("The position row").check()
    check(page)
    expect(page.get_by_role("heading", name="Not yet right")).to_be_visible()
    page.reload()
    expect(page.get_by_label("The position row")).to_be_checked()
    page.get_by_label("The position row").uncheck()
    page.get_by_label("The id").check()
    page.get_by_text("Earlier attempts").click()
    page.get_by_role("link", name="Not yet right").click()
    expect(page.get_by_label("The position row")).to_be_checked()
    expect(page.get_by_label("The id")).not_to_be_checked()


def test_steps_of_the_lesson_follow_the_result(open_page: OpenPage) -> None:
    """The mark beside the exercise changes with the verdict, without a reload."""
    page = open_page("/exercises/which-rows-learn")
    steps = page.get_by_role("navigation", name="Exercises of this lesson")
    expect(steps.get_by_role("link", name=re.compile("New"))).to_have_count(3)
    page.get_by_label("All rows").check()
    check(page)
    expect(steps.get_by_role("link", name=re.compile("Tried"))).to_have_count(1)
    page.get_by_label("Rows 10 and 58").check()
    check(page)
    expect(steps.get_by_role("link", name=re.compile("Done"))).to_have_count(1)


def test_server_out_of_reach_is_said_and_no_answer_lost(open_page: OpenPage, complaints: list[str]) -> None:
    """The answer stays in its field."""
    page = open_page("/exercises/how-many-numbers")
    page.get_by_role("textbox", name="Your answer").fill("12")
    page.route("**/submissions", lambda route: route.abort())
    check(page)
    expect(page.locator("#live")).to_contain_text("can’t be reached")
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("12")
    complaints.clear()  # the console names the connection


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_of_a_course_are_accessible_and_fit(open_page: OpenPage, screen: str) -> None:
    """The first page new and begun, and questions before and after each kind of answer."""
    page = open_page("/", **SCREENS[screen])
    assert violations(page) == []
    assert fits(page)
    first = page.url
    for name, answers in [("how-much-memory", ["a lot", "7 MB", "6 MB"]), ("what-stays", [])]:
        page.goto(f"{first}exercises/{name}")
        assert violations(page) == []
        assert fits(page)
        for answer in answers:
            page.get_by_role("textbox", name="Your answer").fill(answer)
            check(page)
            expect(page.locator(".attempts li")).to_have_count(answers.index(answer) + 1)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert violations(page) == []
            assert fits(page)
    page.goto(first)
    assert violations(page) == []
    assert fits(page)
