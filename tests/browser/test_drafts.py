"""Nothing typed is lost: two tabs, earlier attempts, signing in, another device, and a server that is killed."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Response, Route, expect

from app.db import Database
from app.services.accounts import access
from tests.browser.conftest import (
    BAD,
    EXERCISE,
    PAGE,
    PATIENCE_MS,
    SCREENS,
    OpenPage,
    SignIn,
    editor_of,
    serving,
    violations,
    write,
)

pytestmark = pytest.mark.xdist_group("browser")


def link_for(data_folder: Path, email: str) -> str:
    """Return the address that signs somebody in."""
    with Database(f"sqlite:///{data_folder / 'kelolo.db'}").write() as session:
        access.add_user(session, email=email, role="student")
        return f"/sign-in/{access.create_link(session, email=email)}"


HOUR = "an_hour_of_work = 1"
TRY = "just_a_try = 2"
KEPT = "(code) => Object.values({...localStorage}).some((text) => text.includes(code))"
SYNCED = KEPT.replace("includes(code)", "includes(code) && JSON.parse(text).synced")
SAVED = re.compile(rf"/{EXERCISE}/drafts")


def code_in(page: Page) -> str:
    """Return what stands in the editor."""
    editor_of(page).wait_for()
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def shows(page: Page, code: str) -> None:
    """See that the editor comes to hold exactly this."""
    expect(page.locator(".cm-line")).to_have_text(code.rstrip("\n").split("\n"))


def others(page: Page) -> list[str]:
    """Return the beginnings of all code that can be brought back."""
    return [text.strip() for text in page.locator("[data-drafts-panel] li code").all_text_contents()]


def is_saved(answer: Response) -> bool:
    """Say whether the server has stored a draft."""
    return answer.ok and SAVED.search(answer.url) is not None and answer.request.method in {"PUT", "POST"}


def type_and_save(page: Page, code: str) -> None:
    """Type, and wait until the server has it."""
    with page.expect_response(is_saved):
        write(page, code)


def type_and_keep(page: Page, code: str) -> None:
    """Type, and wait until the browser has it."""
    write(page, code)
    page.wait_for_function(KEPT, arg=json.dumps(code))


def check(page: Page, code: str, heading: str = "Your code stopped with an error") -> None:
    """Write code, check it and see the verdict."""
    write(page, code)
    with page.expect_response("**/submissions"):
        page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name=heading)).to_be_visible()


@pytest.mark.parametrize("sends", [False, True])
def test_two_tabs_keep_their_own_code(open_page: OpenPage, address: str, *, sends: bool) -> None:
    """Each shows its own after a reload, says that there is another, and can bring it back, and its own again."""
    one = open_page()
    two = one.context.new_page()
    two.goto(address + PAGE)
    type_and_keep(one, HOUR)
    type_and_keep(two, TRY)
    if sends:
        two.get_by_role("button", name="Check").click()
        expect(two.get_by_role("heading", name=re.compile("checks"))).to_be_visible()
    one.reload()
    shows(one, HOUR)
    if sends:
        expect(one.locator("[data-drafts-panel]")).to_be_hidden()
        return
    expect(one.get_by_text("Another tab or device has different code")).to_be_visible()
    one.get_by_role("button", name="Bring back my other code").click()
    shows(one, TRY)
    one.get_by_role("button", name="Bring back my other code").click()
    shows(one, HOUR)
    two.reload()
    shows(two, TRY)
    expect(two.locator("[data-bring-back]")).to_be_visible()


def test_tab_that_goes_on_with_the_code_of_another_overwrites_nothing(open_page: OpenPage, address: str) -> None:
    """A tab is opened on code that the first one shows too; what each of them makes of it stays."""
    one = open_page()
    type_and_keep(one, HOUR)
    two = one.context.new_page()
    two.goto(address + PAGE)
    shows(two, HOUR)
    type_and_keep(two, TRY)
    expect(one.get_by_text("Another tab or device has different code")).to_be_visible()
    one.reload()
    shows(one, HOUR)
    assert others(one) == [TRY]
    two.reload()
    shows(two, TRY)
    assert others(two) == [HOUR]


def test_tab_that_sleeps_keeps_the_code_it_shows(open_page: OpenPage, address: str) -> None:
    """A tab that is not told of the other's changes, having been put to sleep, finds its own code when it wakes."""
    one = open_page()
    type_and_keep(one, HOUR)
    one.evaluate("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    asleep = one.evaluate("JSON.stringify({...sessionStorage})")
    two = one.context.new_page()
    two.goto(address + PAGE)
    shows(two, HOUR)
    one.goto("about:blank")
    type_and_keep(two, TRY)
    one.goto(address)
    one.evaluate("(kept) => Object.assign(sessionStorage, JSON.parse(kept))", asleep)
    one.goto(address + PAGE)
    shows(one, HOUR)
    expect(one.get_by_role("button", name="Bring back my other code")).to_be_visible()


def test_earlier_attempts_looked_at_one_after_the_other_lose_no_code(open_page: OpenPage) -> None:
    """Two attempts are opened, changed without being sent, and the starter is asked for: all of it can come back."""
    page = open_page()
    check(page, BAD)
    check(page, "h = 1", "of 8 checks failed")
    write(page, HOUR)
    page.get_by_text("Earlier attempts").click()
    links = page.locator("#history li a")
    links.nth(1).click()
    shows(page, BAD)
    editor_of(page).press("ControlOrMeta+Home")
    page.keyboard.type("changed_first = 1\n")
    page.get_by_text("Earlier attempts").click()
    links.nth(0).click()
    shows(page, "h = 1")
    editor_of(page).press("ControlOrMeta+Home")
    page.keyboard.type("changed_second = 1\n")
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_text("Your other code is set aside")).to_be_visible()
    kept = ["changed_second = 1\nh = 1", f"changed_first = 1\n{BAD}", HOUR]
    assert [text.split("\n")[0] for text in others(page)] == [text.split("\n")[0] for text in kept]
    page.get_by_text("All 3 that were not checked").click()
    for code in reversed(kept):
        entry = page.locator("[data-drafts-panel] li", has_text=code.split("\n")[0])
        entry.get_by_role("button", name="Bring back").click()
        shows(page, code)


def test_code_that_was_checked_is_not_among_what_can_be_brought_back(open_page: OpenPage) -> None:
    """It is in the list of attempts; code that was only run is not there, so it can be brought back."""
    page = open_page()
    check(page, BAD)
    write(page, "print('only run')")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("What your code printed")).to_have_text("only run")
    page.get_by_text("Earlier attempts").click()
    page.locator("#history li a").first.click()
    shows(page, BAD)
    assert others(page) == ["print('only run')"]
    page.get_by_role("button", name="Start again").click()
    assert others(page) == ["print('only run')"]


def test_editor_that_is_cleared_by_a_slip_can_be_filled_again(open_page: OpenPage) -> None:
    """All is selected and deleted, and the page is left: what was there is set aside."""
    page = open_page()
    type_and_keep(page, "\n".join([HOUR] * 5))
    editor_of(page).press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    expect(page.get_by_role("button", name="Bring back my other code")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Bring back my other code").click()
    shows(page, "\n".join([HOUR] * 5))


@pytest.mark.parametrize("is_saved", [True, False])
def test_guest_who_signs_in_finds_what_was_typed(
    open_page: OpenPage, address: str, data_folder: Path, *, is_saved: bool
) -> None:
    """Whether the server has it already or only the browser: it is in the editor of the account."""
    email = f"typist-{is_saved}@example.org"
    link = link_for(data_folder, email)
    page = open_page()
    if is_saved:
        type_and_save(page, HOUR)
    else:
        page.route(SAVED, lambda route: route.abort())
        type_and_keep(page, HOUR)
    page.goto(address + link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text(email).first).to_be_attached()
    page.unroute(SAVED)
    page.goto(address + PAGE)
    shows(page, HOUR)


def test_code_is_there_on_the_next_device(sign_in: SignIn, address: str, complaints: list[str]) -> None:
    """Two browsers of one account: the second goes on with it; where both go on, both texts stay."""
    one, two = (sign_in("traveller@example.org", "student") for _ in range(2))
    one.goto(address + PAGE)
    type_and_save(one, HOUR)
    two.goto(address + PAGE)
    shows(two, HOUR)
    type_and_save(two, TRY)
    with one.expect_response(lambda answer: answer.status == 409):
        write(one, "at_home = 3")
    expect(one.get_by_text("Another tab or device has different code")).to_be_visible()
    shows(one, "at_home = 3")
    assert others(one) == [TRY]
    complaints.clear()  # the console names the 409


def test_double_click_sends_once(open_page: OpenPage) -> None:
    """So do Enter twice, and Ctrl Enter with a click: one request, one attempt; a question's button too."""
    for number, press in enumerate([double_click, press_enter_twice, press_both]):
        page = open_page()
        posts = count_posts(page)
        write(page, f"h = {number}")
        press(page)
        expect(page.get_by_role("heading", name=re.compile("checks"))).to_be_visible()
        page.wait_for_timeout(500)  # a second one would be on its way
        assert posts == [1]
        expect(page.locator("#history li")).to_have_count(1)


def press_enter_twice(page: Page) -> None:
    """Press Enter on the button, and again."""
    for _ in range(2):
        page.get_by_role("button", name="Check").press("Enter")


def press_both(page: Page) -> None:
    """Press Ctrl Enter in the editor, and click."""
    page.keyboard.press("ControlOrMeta+Enter")
    page.get_by_role("button", name="Check").click()


def double_click(page: Page) -> None:
    """Click twice, as those do who are used to it."""
    page.get_by_role("button", name="Check").dblclick()


def count_posts(page: Page) -> list[int]:
    """Return a list of one number: how many submissions the page has sent."""
    posts = [0]

    def note(request: Request) -> None:
        posts[0] += request.method == "POST" and request.url.endswith("/submissions")

    page.on("request", note)
    return posts


def test_double_click_on_an_answer_sends_once(open_page: OpenPage) -> None:
    """The button of a question is like that of code."""
    page = open_page("/exercises/how-many-numbers")
    posts = count_posts(page)
    page.get_by_role("textbox", name="Your answer").fill("12")
    page.get_by_role("button", name="Check answer").dblclick()
    expect(page.locator("#history li")).to_have_count(1)
    assert posts == [1]


def test_buttons_wait_for_the_answer_and_come_back_when_there_is_none(
    open_page: OpenPage, complaints: list[str]
) -> None:
    """Both are off while the code is sent; after a lost answer the same press again makes no second attempt."""
    page = open_page()
    write(page, "h = 1")
    check_button, run_button = (page.get_by_role("button", name=name) for name in ("Check", "Run"))
    held: list[Route] = []
    page.route("**/submissions", lambda route: held.append(route))  # noqa: PLW0108  playwright marks what it is given
    check_button.click()
    expect(check_button).to_be_disabled()
    expect(run_button).to_be_disabled()
    arrived = held[0].fetch()  # the server has it, and the page is not told
    assert arrived.ok
    held[0].abort()
    expect(page.locator("#live")).to_contain_text("can’t be reached")
    expect(check_button).to_be_enabled()
    expect(run_button).to_be_enabled()
    page.unroute("**/submissions")
    check_button.click()
    expect(page.get_by_role("heading", name=re.compile("checks"))).to_be_visible()
    expect(page.locator("#history li")).to_have_count(1)
    complaints.clear()  # the console names the connection


def test_code_outlives_a_server_and_a_browser_that_are_killed(chromium: Browser, tmp_path: Path, courses: Path) -> None:
    """The server is killed while somebody types; all is there when it is back, and then in a browser that lost all."""
    with serving(tmp_path, courses) as (address, process):
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(address + PAGE)
        type_and_save(page, "before = 1")
        process.kill()
        process.wait()
        type_and_keep(page, HOUR)
    port = int(address.rsplit(":", 1)[1])
    with serving(tmp_path, courses, port=port) as (_, process):
        page.wait_for_function(SYNCED, arg=json.dumps(HOUR))  # it tries again by itself
        page.reload()
        shows(page, HOUR)
        cookies = context.cookies()
        context.close()  # with all that it had stored
        process.kill()
        process.wait()
    with serving(tmp_path, courses, port=port):
        another = chromium.new_context()
        another.set_default_timeout(PATIENCE_MS)
        another.add_cookies(cookies)  # type: ignore[arg-type]  # what Playwright gives is what it takes
        page = another.new_page()
        page.goto(address + PAGE)
        shows(page, HOUR)
        another.close()


@pytest.mark.parametrize("screen", SCREENS)
def test_notices_are_accessible_and_fit(open_page: OpenPage, address: str, screen: str) -> None:
    """One other text, and several with their beginnings."""
    page = open_page(**SCREENS[screen])
    for count, code in enumerate([HOUR, TRY, f"{'x' * 200} = 1\n{HOUR}\n{TRY}\na = 1\nb = 2\nc = 3"], start=1):
        write(page, code)
        page.get_by_role("button", name="Start again").click()
        expect(page.locator("[data-drafts-panel] li")).to_have_count(count)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
