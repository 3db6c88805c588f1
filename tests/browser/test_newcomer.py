"""The newcomer's story: from the first address to the verdict, in a real browser against a real worker."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import BAD, EXERCISE, GOOD, PAGE, SCREENS, OpenPage, editor_of, violations, write

pytestmark = pytest.mark.xdist_group("browser")


def checks(page: Page, status: str) -> int:
    """Count the checks that ended so."""
    return page.locator(f"[data-check][data-status={status}]").count()


def test_newcomer_sees_every_check_turn_green(open_page: OpenPage) -> None:
    """Open the first page, start, write the lines, press Check: eight times green, and the printed check below."""
    page = open_page("/")
    page.get_by_role("link", name="Start here").click()
    write(page, GOOD)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name="All 8 checks passed")).to_be_visible()
    assert checks(page, "passed") == 8
    printed = page.get_by_label("The lesson’s printed check")
    expect(printed).to_contain_text("token table: [19, 32] position table: [8, 32]")
    expect(printed).to_contain_text("position 4 [-0.138, -0.316, 0.212, -0.318]")
    expect(printed).to_contain_text("numbers the model can learn: 864 | tok learns: True")


def test_wrong_look_up_is_told_what_is_wrong_and_where(open_page: OpenPage) -> None:
    """With `pos = pos_emb(x)` the mix-up is named, and line 4 is marked until it is changed."""
    page = open_page()
    write(page, BAD)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name="A likely mix-up")).to_be_visible()
    expect(page.get_by_role("heading", name="IndexError on line 4")).to_be_visible()
    expect(page.locator(".cm-error-line")).to_have_text("pos = pos_emb(x)")
    expect(page.locator("[data-check=pos] details")).to_have_attribute("open", "")
    expect(page.get_by_text("as said above")).to_be_visible()
    assert checks(page, "failed") == 1
    editor_of(page).press("ControlOrMeta+End")
    page.keyboard.type("  # hm")
    expect(page.locator(".cm-error-line")).to_have_count(0)


def test_run_shows_what_is_printed_and_judges_nothing(open_page: OpenPage) -> None:
    """Run is for looking: the output is there, and no check."""
    page = open_page()
    write(page, "print(x.shape)")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("What your code printed")).to_have_text("torch.Size([32, 8])")
    assert page.locator("[data-check]").count() == 0


def test_ctrl_enter_checks(open_page: OpenPage) -> None:
    """Hands can stay on the keyboard."""
    page = open_page()
    write(page, GOOD)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("heading", name="All 8 checks passed")).to_be_visible()


def test_tab_indents_and_escape_lets_it_leave(open_page: OpenPage) -> None:
    """Nobody who works by keyboard is caught in the editor."""
    page = open_page()
    write(page, "x")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-line")).to_have_text("    x")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Run")).to_be_focused()


def test_unsent_code_is_there_after_a_reload(open_page: OpenPage) -> None:
    """What was typed and never sent is kept in the browser."""
    page = open_page()
    write(page, "almost = 1")
    page.reload()
    expect(page.locator(".cm-line").first).to_have_text("almost = 1")


def test_keys_typed_before_the_editor_is_there_are_kept(open_page: OpenPage, address: str) -> None:
    """On a slow line the plain text field is used at first; the editor takes over text, cursor and keyboard."""
    page = open_page("/")
    held: list[Route] = []
    page.route("**/static/editor/exercise.js*", lambda route: held.append(route))  # noqa: PLW0108  playwright marks what it is given
    with page.expect_request("**/static/editor/exercise.js*"):
        page.goto(address + PAGE, wait_until="commit")
    field = page.locator("textarea#source")
    field.fill("first = 1\nlast = 3")
    field.press("Home")
    held.pop().continue_()
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.type("second = 2\n")
    assert page.locator(".cm-line").all_inner_texts() == ["first = 1", "second = 2", "last = 3"]


def test_earlier_attempt_can_be_looked_at_without_losing_code(open_page: OpenPage) -> None:
    """An earlier attempt comes into the editor with its result, and the newer code back with one press."""
    page = open_page()
    write(page, BAD)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("heading", name="A likely mix-up")).to_be_visible()
    write(page, "newer = 1")
    page.get_by_text("Earlier attempts").click()
    page.get_by_role("link", name="Stopped with an error").click()
    expect(page.locator(".cm-error-line")).to_have_text("pos = pos_emb(x)")
    page.get_by_role("button", name="Bring back my other code").click()
    expect(page.locator(".cm-line").first).to_have_text("newer = 1")


def test_theme_can_be_chosen_and_is_kept(open_page: OpenPage) -> None:
    """The button turns the page dark, also after a reload."""
    page = open_page(color_scheme="light")
    page.get_by_role("button", name="Dark theme").click()
    page.reload()
    expect(page.get_by_role("button", name="Dark theme")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


@pytest.mark.parametrize("screen", SCREENS)
def test_page_is_accessible_and_fits(open_page: OpenPage, screen: str) -> None:
    """At the start, after an error and after success axe finds nothing, and nothing sticks out sideways."""
    page = open_page(**SCREENS[screen])
    for code, heading in [
        ("", None),
        (BAD, "Your code stopped with an error"),
        (GOOD, "All 8 checks passed"),
    ]:
        if heading:
            write(page, code)
            page.keyboard.press("ControlOrMeta+Enter")
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_phone_shows_formulas_whole_and_breaks_no_name(open_page: OpenPage) -> None:
    """A formula has no way to say that it goes on; a shape in a table has a line break only between its sizes."""
    page = open_page(**SCREENS["light phone"])
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    formulas = page.locator(".formula").all()
    assert formulas
    for one in formulas:
        assert one.evaluate(
            "(box) => [...box.querySelectorAll('math *')].every("
            "  (part) => part.getBoundingClientRect().right <= box.getBoundingClientRect().right + 1)"
        )
    lines = page.locator(".task td code", has_text="batch_size").first.evaluate(
        "(code) => code.getClientRects().length"
    )
    assert lines == 3


def test_reference_of_the_api_is_accessible(open_page: OpenPage) -> None:
    """So is the page for those who write programs."""
    assert violations(open_page("/api/docs", **SCREENS["dark phone"])) == []


def test_page_works_without_javascript(open_page: OpenPage) -> None:
    """A text field and a form: the same verdict, the same words, and the code still there."""
    page = open_page(java_script_enabled=False)
    field = page.get_by_label("Your code", exact=True)
    field.fill(GOOD)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name="All 8 checks passed")).to_be_visible()
    expect(field).to_have_value(GOOD)
    page.get_by_role("link", name="Kelolo").click()
    page.locator(f"[data-exercise={EXERCISE}]").get_by_role("link", name="Done").click()
    expect(page.get_by_label("Your code", exact=True)).to_have_value(GOOD)


def test_refusal_is_said_and_no_code_lost(open_page: OpenPage, complaints: list[str]) -> None:
    """When the site cannot take the code, the page says so, and the code stays."""
    page = open_page()
    write(page, "mine = 1")
    page.route("**/submissions", lambda route: route.fulfill(status=503, body="<p>Very busy just now.</p>"))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#live")).to_contain_text("Very busy just now.")
    expect(page.locator(".cm-line").first).to_have_text("mine = 1")
    complaints.clear()  # the console names the 503


def test_server_out_of_reach_is_said_and_no_code_lost(open_page: OpenPage, complaints: list[str]) -> None:
    """When there is no connection, the page says so, and the code is there even after a reload."""
    page = open_page()
    write(page, "mine = 1")
    page.route("**/submissions", lambda route: route.abort())
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#live")).to_contain_text("can’t be reached")
    page.reload()
    expect(page.locator(".cm-line").first).to_have_text("mine = 1")
    complaints.clear()  # the console names the connection
