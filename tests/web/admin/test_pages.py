"""The administrators' pages work without JavaScript: a form is taken, or says beside the field why not."""

import re
from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import unquote

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from app.clock import utc_now
from app.models import Rule
from app.services.accounts import access
from app.services.administration import users
from app.services.plans import plans, quotas
from app.web.http.site import Site
from tests.web.conftest import BROWSER

Submit = Callable[..., Response]


@pytest.fixture
def admin(client: TestClient, site: Site) -> None:
    """Sign an administrator in on the browser of the test."""
    with site.database.write() as session:
        access.add_user(session, email="root@example.org", role="admin")
        link = access.create_link(session, email="root@example.org")
    client.post(f"/sign-in/{link}")


@pytest.fixture
def ada(site: Site) -> str:
    """Make a student, and return the address of the page about her."""
    with site.database.write() as session:
        return f"/admin/users/{access.add_user(session, email='ada@example.org', role='student').id}"


@pytest.fixture
def submit(client: TestClient, admin: None) -> Submit:
    """Return a function that opens a page, and sends one of its forms with some fields filled in."""

    def send(page: str, action: str, /, **fields: str) -> Response:
        opened = client.get(page, headers=BROWSER).text
        form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', opened, re.DOTALL)
        assert form, f"no form for {action} on {page}"
        return client.post(action, data=filled(form[0]) | fields, headers=BROWSER)

    return send


def filled(form: str) -> dict[str, str]:
    """Return what a browser would send of a form as it stands."""
    values = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r' name="([^"]*)"', tag), re.search(r' value="([^"]*)"', tag)
        if name and ('type="checkbox"' not in tag or " checked" in tag):
            values[name[1]] = value[1] if value else ""
    for name, options in re.findall(r'<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        values[name] = (chosen[1] or chosen[2]) if chosen else ""
    return values


def test_plan_is_changed_by_its_form(client: TestClient, submit: Submit) -> None:
    """The page says it in words, and that it was done."""
    answer = submit("/admin/plans", "/admin/plans/free", tutor_messages_amount="40", tutor_messages_period="month")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/plans?done=plan")
    page = client.get("/admin/plans?done=plan", headers=BROWSER).text
    assert "40 tutor messages a month" in page
    assert "The plan was changed." in page


def test_plan_is_made_unlimited_by_its_form(client: TestClient, submit: Submit) -> None:
    """With a ceiling of fair use."""
    submit("/admin/plans", "/admin/plans/free", tutor_messages_unlimited="yes", tutor_messages_fair_use="20")
    assert "Unlimited tutor messages, up to 20 a day" in client.get("/admin/plans", headers=BROWSER).text


@pytest.mark.parametrize("amount", ["", "-5", "many", "1.5", "٣", "1" * 30])
def test_amount_that_will_not_do_stays_in_its_field(client: TestClient, submit: Submit, amount: str) -> None:
    """With a sentence beside it, and nothing saved."""
    answer = submit("/admin/plans", "/admin/plans/free", tutor_messages_amount=amount, reason="typed <b>long</b>")
    assert answer.status_code == 422
    assert "Write a whole number from 0 to 1000000." in answer.text
    assert f'value="{amount}"' in answer.text
    assert "typed &lt;b&gt;long&lt;/b&gt;" in answer.text
    assert "30 tutor messages, ever" in client.get("/admin/plans", headers=BROWSER).text


def test_second_of_two_who_edit_at_once_is_told(client: TestClient, submit: Submit, site: Site) -> None:
    """And sees how it stands now, without having changed anything."""
    page = client.get("/admin/plans", headers=BROWSER).text
    form = re.search(r'<form method="post" action="/admin/plans/free".*?</form>', page, re.DOTALL)
    assert form
    submit("/admin/plans", "/admin/plans/free", tutor_messages_amount="50")
    answer = client.post("/admin/plans/free", data=filled(form[0]) | {"tutor_messages_amount": "60"}, headers=BROWSER)
    assert answer.status_code == 409
    assert "Somebody else has changed the Free plan" in answer.text
    assert "50 tutor messages, ever" in answer.text
    with site.database.read() as session:
        assert plans.plan_named(session, "free").limits[Rule.TUTOR_MESSAGES].amount == 50


def test_user_is_changed_form_by_form(client: TestClient, submit: Submit, ada: str) -> None:
    """Plan, own limit, messages on top, reset, role, block: each acts at once, and the page tells all of it."""
    for what, fields in {
        "plan": {"plan": "pro", "ends_at": "2100-01-31"},
        "limit": {"rule": "tutor_messages", "tutor_messages_amount": "5", "tutor_messages_period": "day"},
        "extra": {"amount": "7", "reason": "A bad answer"},
        "reset": {"sure": "yes"},
        "role": {"role": "instructor"},
        "block": {"sure": "yes", "reason": "Sells answers"},
    }.items():
        answer = submit_limit(client, ada, fields) if what == "limit" else submit(ada, f"{ada}/{what}", **fields)
        assert answer.status_code == 303, what
    page = client.get(ada, headers=BROWSER).text
    for told in ("31 Jan 2100", "blocked", "instructor", "Sells answers", "A bad answer", "set for this account"):
        assert told in page, told
    assert submit(ada, f"{ada}/unblock").status_code == 303
    assert "Sells answers" in client.get("/admin/audit?subject=ada", headers=BROWSER).text


def submit_limit(client: TestClient, ada: str, fields: dict[str, str]) -> Response:
    """Send the form of a limit as it is when Unlimited is not ticked."""
    before = re.search(r'name="before" value="(\w+)"', client.get(ada, headers=BROWSER).text)
    assert before
    return client.post(f"{ada}/limit", data={"before": before[1], **fields}, headers=BROWSER)


def test_own_limit_is_taken_back_by_its_form(client: TestClient, submit: Submit, ada: str) -> None:
    """The plan's own holds again."""
    fields = {"rule": "checks", "checks_amount": "5", "checks_period": "minute"}
    submit_limit(client, ada, fields)
    assert "5 checks a minute" in client.get(ada, headers=BROWSER).text
    submit_limit(client, ada, {"rule": "checks", "as_plan": "yes"})
    assert "600 checks a minute" in client.get(ada, headers=BROWSER).text


@pytest.mark.parametrize(
    ("what", "fields", "sentence"),
    [
        ("plan", {"ends_at": "2001-01-31"}, "Choose today or a later day."),
        ("plan", {"ends_at": "tomorrow"}, "Write a day as year-month-day"),
        ("plan", {"plan": "gold"}, "Nothing was saved"),
        ("extra", {"amount": "0"}, "Write a whole number from 1"),
        ("extra", {"amount": "1", "reason": "x" * 501}, "At most 500 characters."),
        ("reset", {}, "Tick this box if you mean it."),
        ("block", {}, "Tick this box if you mean it."),
        ("role", {"role": "admin"}, "Tick this box if you mean it."),
    ],
)
def test_dangerous_or_wrong_form_is_not_taken(
    submit: Submit, ada: str, what: str, fields: dict[str, str], sentence: str
) -> None:
    """It says why, and stays open."""
    answer = submit(ada, f"{ada}/{what}", **fields)
    assert answer.status_code == 422
    assert sentence in answer.text


def test_own_page_has_no_forms_that_lock_oneself_out(client: TestClient, submit: Submit, site: Site) -> None:
    """And sending them all the same is refused."""
    with site.database.read() as session:
        own = f"/admin/users/{users.named(session, 'root@example.org').id}"
    page = client.get(own, headers=BROWSER).text
    assert f'action="{own}/block"' not in page
    before = re.search(r'name="before" value="(\w+)"', page)
    assert before
    fields = {"before": before[1], "sure": "yes", "role": "student"}
    for what in ("block", "role"):
        answer = client.post(f"{own}/{what}", data=fields, headers=BROWSER)
        assert answer.status_code == 409
        assert "Ask another administrator" in answer.text


def test_users_are_searched_by_the_page(client: TestClient, admin: None, ada: str) -> None:
    """Whatever stands in the address."""
    assert "ada@example.org" in client.get("/admin/users?q=AD&role=student&plan=free&state=active").text
    assert "Nobody fits all of this." in client.get("/admin/users?q=nobody").text
    for query in ("role=king&page=x&sort=up&state=9", "page=" + "9" * 50, "q=%00", "page=0"):
        assert client.get(f"/admin/users?{query}").status_code == 200


def test_overview_tells_who_is_near_a_limit(client: TestClient, admin: None, ada: str, site: Site) -> None:
    """With how much is left."""
    assert "Nobody has used more than four fifths" in client.get("/admin").text
    with site.database.write() as session:
        account = users.named(session, "ada@example.org")
        for _ in range(26):
            quotas.take(session, account, Rule.TUTOR_MESSAGES)
    page = client.get("/admin").text
    assert "26 of 30 ever" in page
    assert "<strong>4</strong>" in page


def test_codes_are_shown_once_with_files_that_hold_them(client: TestClient, submit: Submit) -> None:
    """In the answer to the form, which nothing keeps; batches tell how many are used."""
    answer = submit("/admin/codes", "/admin/codes", label="=Spring", count="2", plan="pro", plan_days="30")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    codes = re.findall(r"KEL(?:-\w{4}){4}", re.sub(r'href="[^"]*"', "", answer.text))
    assert len(codes) == 2
    files = {kind: file_in(answer.text, kind) for kind in ("text/plain", "text/csv")}
    assert files["text/plain"].split() == codes
    assert files["text/csv"].splitlines()[1] == f"{codes[0]},'=Spring,pro,30,"
    page = client.get("/admin/codes", headers=BROWSER).text
    assert "<strong>2</strong> unused, 0 redeemed, 0 expired, of 2" in page
    assert codes[0] not in page


def file_in(page: str, kind: str) -> str:
    """Return what is in a file that a page holds itself."""
    found = re.search(rf'href="data:{kind};charset=utf-8;base64,([^"]*)"', page)
    assert found
    return b64decode(unquote(found[1])).decode()


def test_batch_is_revoked_by_its_form(client: TestClient, submit: Submit) -> None:
    """Only if one means it."""
    submit("/admin/codes", "/admin/codes", label="Spring", count="2", plan="pro")
    sure = re.search(r'name="(sure-\w+)"', client.get("/admin/codes", headers=BROWSER).text)
    assert sure
    assert submit("/admin/codes", "/admin/codes/revoke").status_code == 422
    assert submit("/admin/codes", "/admin/codes/revoke", **{sure[1]: "yes"}).status_code == 303
    assert "<strong>0</strong> unused, 0 redeemed, 2 expired, of 2" in client.get("/admin/codes", headers=BROWSER).text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"label": ""}, "Give the batch a name"),
        ({"label": "x" * 61}, "At most 60 characters."),
        ({"count": "1001"}, "Write a whole number from 1 to 1000."),
        ({"plan_days": "0"}, "Write a whole number from 1 to 3660."),
        ({"expires_at": "2001-01-31"}, "Choose today or a later day."),
    ],
)
def test_batch_that_cannot_be_is_not_made(submit: Submit, fields: dict[str, str], sentence: str) -> None:
    """What was typed stays, and the field says what will do."""
    answer = submit("/admin/codes", "/admin/codes", **{"label": "Spring", "count": "77"} | fields)
    assert answer.status_code == 422
    assert sentence in answer.text
    assert "There are no codes yet." in answer.text


def test_ceilings_of_the_tutor_are_changed_by_their_form(client: TestClient, submit: Submit) -> None:
    """And whoever comes second is told."""
    old = filled(client.get("/admin/tutor", headers=BROWSER).text)
    ceiling = {"month_token_ceiling": "50000"}
    assert submit("/admin/tutor", "/admin/tutor", **ceiling).status_code == 303
    assert "50,000" in client.get("/admin/tutor", headers=BROWSER).text
    assert client.post("/admin/tutor", data=old | {"failures_per_day": "3"}, headers=BROWSER).status_code == 409
    assert submit("/admin/tutor", "/admin/tutor", failures_per_day="-1").status_code == 422


def test_log_is_shown_by_page_and_filter(client: TestClient, admin: None, site: Site, ada: str) -> None:
    """The day that is named last is included; a day that is none is said so."""
    with site.database.write() as session:
        account = users.named(session, "ada@example.org")
        for number in range(55):
            plans.give_extra(session, account, Rule.TUTOR_MESSAGES, amount=number + 1, by=None)
    page = client.get("/admin/audit", headers=BROWSER).text
    older = re.search(r'href="(/admin/audit\?after=\w+)">Older', page)
    assert older
    assert page.count('<p class="action">') == 50
    assert client.get(older[1], headers=BROWSER).text.count('<p class="action">') == 5
    today = utc_now().date()
    assert "Messages given" in client.get(f"/admin/audit?since={today}&until={today}&action=user.extra").text
    assert "No entry fits" in client.get(f"/admin/audit?since={today + timedelta(days=1)}").text
    assert "Write a day as year-month-day." in client.get("/admin/audit?since=x").text
    assert client.get("/admin/audit?after=x&actor=%00").status_code == 404
    assert len(client.get("/admin/audit.csv?subject=ada").text.splitlines()) == 56


def test_student_redeems_a_code_on_the_page_of_the_plan(client: TestClient, site: Site, submit: Submit) -> None:
    """A wrong one is told beside its field; what was typed stays."""
    made = submit("/admin/codes", "/admin/codes", label="Spring", count="1", plan="pro", plan_days="30").text
    (code,) = set(re.findall(r"KEL(?:-\w{4}){4}", re.sub(r'href="[^"]*"', "", made)))
    client.cookies.clear()
    with site.database.write() as session:
        access.add_user(session, email="ada@example.org", role="student")
        link = access.create_link(session, email="ada@example.org")
    client.post(f"/sign-in/{link}")
    assert "30 tutor messages, ever: 0 used, <strong>30 left</strong>" in client.get("/account/plan").text
    wrong = client.post("/account/codes", data={"code": 'KEL-"1"'}, headers=BROWSER)
    assert wrong.status_code == 422
    assert 'value="KEL-&#34;1&#34;"' in wrong.text
    assert "This code is not known" in wrong.text
    right = client.post("/account/codes", data={"code": code.lower()}, headers=BROWSER)
    assert right.status_code == 303
    assert "You have the PRO plan until" in client.get(right.headers["Location"]).text


def test_guest_sees_a_plan_too(client: TestClient) -> None:
    """And is told that a code needs an account."""
    assert "With an account you can enter a code" in client.get("/account/plan").text
    answer = client.post("/account/codes", data={"code": "x"}, headers=BROWSER)
    assert answer.status_code == 403
    assert "Sign up, and enter it then" in answer.text
