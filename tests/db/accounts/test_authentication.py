"""How a visitor becomes somebody, and keeps what they did; and how somebody leaves."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, inspect, select, text, update
from sqlalchemy.exc import DatabaseError

from app.clock import utc_now
from app.db import Base, Database
from app.errors import AccountBlocked, AppError, EmailTaken, MailLinkSpent, NotFound, SignInRefused
from app.models import (
    Account,
    AccountPlan,
    ApiToken,
    AuditEntry,
    BrowserSession,
    Draft,
    ExerciseVersion,
    Grant,
    HintOpening,
    Identity,
    LimitOverride,
    LinkPurpose,
    MessageState,
    Period,
    RedeemCode,
    Role,
    Rule,
    Submission,
    TutorMessage,
    UsageCounter,
)
from app.services.accounts.access import (
    access_by_bearer,
    access_by_cookie,
    account_for_link,
    add_token,
    add_user,
    create_guest,
    create_link,
    create_token,
    make_link,
    open_session,
)
from app.services.accounts.authentication import (
    BrowserContext,
    confirm,
    has_admin,
    make_first_admin,
    reset_password,
    sign_in,
    sign_in_by_password,
    sign_up,
)
from app.services.grading.queue import LeaseQueue
from app.services.personal_data import delete_account, export_account, tables
from app.services.submissions.submissions import history, submit
from tests.db.conftest import EXERCISE, Submit

ADA = "ada@example.org"


@pytest.fixture
def guest(database: Database) -> Account:
    """Store a guest."""
    with database.write() as session:
        return create_guest(session)[0]


@pytest.fixture
def ada(database: Database) -> Account:
    """Store a student's account with a password."""
    with database.write() as session:
        account = add_user(session, email=ADA, role="student")
        account.password_hash = "the hash"  # noqa: S105  of nothing
        return account


def message(account: Account, version: ExerciseVersion, client_message_id: str, **more: Any) -> TutorMessage:  # noqa: ANN401
    """Return a message to the tutor, settled unless said otherwise."""
    facts: dict[str, Any] = {"state": MessageState.SETTLED, "charged": True, "owner": "here"}
    return TutorMessage(
        account_id=account.id,
        exercise_version_id=version.id,
        client_message_id=client_message_id,
        question="why?",
        lease_until=utc_now(),
        **(facts | more),
    )


def fill(database: Database, account: Account, version: ExerciseVersion, queue: LeaseQueue) -> None:
    """Leave something of an account in every table that can hold it."""
    with database.write() as session:
        submit(session, account=account, exercise_id=EXERCISE, source="mine = 1", queue=queue)
        grant = Grant(account_id=account.id, rule=Rule.TUTOR_MESSAGES, amount=5)
        session.add(grant)
        session.flush()
        session.add_all(
            [
                Draft(account_id=account.id, exercise_id=EXERCISE, name="tab", text="unsent = 1", version=1),
                HintOpening(
                    account_id=account.id, exercise_version_id=version.id, number=1, attempts_before=0, offered=False
                ),
                message(account, version, "first", grant_id=grant.id),
                LimitOverride(
                    account_id=account.id, rule=Rule.TUTOR_MESSAGES, amount=7, period=Period.DAY
                ),
                AccountPlan(account_id=account.id, plan_name="pro", origin="code"),
                UsageCounter(account_id=account.id, rule="tutor_messages", period_key="lifetime", used=3),
                Identity(account_id=account.id, issuer="https://id.example.org", subject="7"),
                RedeemCode(code_hash=account.id, batch="b", plan_name="pro", redeemed_by=account.id),
                AuditEntry(
                    actor_id="x", actor="root@example.org", action="user.plan", subject_kind="user",
                    subject_id=account.id, subject="somebody",
                ),
            ]
        )  # fmt: skip
        make_link(session, account, purpose=LinkPurpose.RESET)
        add_token(session, account, label="laptop")
        open_session(session, account, browser="Firefox")


def test_guest_who_signs_up_keeps_the_work(database: Database, guest: Account, send: Submit) -> None:
    """It is the same account, so all that refers to it stays."""
    send(account=guest)
    with database.write() as session:
        account = sign_up(session, BrowserContext(account_id=guest.id), email=ADA, password_hash="h")  # noqa: S106
        assert (account.id, account.role, account.email) == (guest.id, Role.STUDENT, ADA)
        assert len(history(session, account=account, exercise_id=EXERCISE)) == 1


def test_cookie_of_before_opens_nothing_after(database: Database) -> None:
    """A cookie that somebody planted before does not become a way into the account, and neither does a token."""
    with database.write() as session:
        guest, planted = create_guest(session)
        _, token = add_token(session, guest)
        stored = session.scalars(select(BrowserSession)).one()
        browser = BrowserContext(account_id=guest.id, browser_id=stored.id)
        account = sign_up(session, browser, email=ADA, password_hash=None)
        cookie = sign_in(session, account, browser)
        assert access_by_cookie(session, planted) is None
        assert access_by_bearer(session, token) is None
        access = access_by_cookie(session, cookie)
        assert access is not None
        assert access.account is account


def test_two_sign_ups_with_one_address_make_one_account(database: Database) -> None:
    """Concurrently, too: the second learns that the address has an account."""

    def one(_: int) -> str:
        try:
            with database.write() as session:
                return sign_up(session, BrowserContext(), email=ADA, password_hash="h").id  # noqa: S106
        except EmailTaken:
            return "taken"

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(one, range(8)))
    assert results.count("taken") == 7
    with database.read() as session:
        assert session.scalar(select(func.count()).where(Account.email == ADA)) == 1


def test_guest_who_signs_in_brings_the_work(
    database: Database, ada: Account, version: ExerciseVersion, queue: LeaseQueue, guest: Account
) -> None:
    """Everything of the guest becomes the account's, and the guest is no more."""
    fill(database, guest, version, queue)
    with database.write() as session:
        sign_in(session, session.get_one(Account, ada.id), BrowserContext(account_id=guest.id))
    with database.read() as session:
        assert session.get(Account, guest.id) is None
        for model in (Submission, HintOpening, TutorMessage, Grant, LimitOverride, AccountPlan, UsageCounter):
            assert set(session.scalars(select(model.account_id))) == {ada.id}, model
        assert session.scalars(select(RedeemCode.redeemed_by)).all() == [ada.id]


def test_what_both_have_stays_the_accounts(
    database: Database, ada: Account, version: ExerciseVersion, queue: LeaseQueue, guest: Account
) -> None:
    """A hint that both opened, a key and a message id that both used: nothing gets in the way, nothing is lost."""
    for account in (ada, guest):
        with database.write() as session:
            submit(
                session, account=account, exercise_id=EXERCISE, source=account.id, queue=queue, idempotency_key="key"
            )
            opening = HintOpening(
                account_id=account.id, exercise_version_id=version.id, number=1, attempts_before=0, offered=False
            )
            session.add_all([opening, message(account, version, "same")])
    with database.write() as session:
        sign_in(session, session.get_one(Account, ada.id), BrowserContext(account_id=guest.id))
    with database.read() as session:
        sent = session.execute(select(Submission.source, Submission.idempotency_key)).all()
        assert {tuple(row) for row in sent} == {(ada.id, "key"), (guest.id, None)}
        assert session.scalar(select(func.count()).select_from(HintOpening)) == 1
        assert session.scalar(select(func.count()).select_from(TutorMessage)) == 2


def test_nobody_gets_messages_by_trying_as_a_guest_first(
    database: Database, ada: Account, version: ExerciseVersion, guest: Account
) -> None:
    """What was used adds up; and a message that is under way gives back to the counter it is now counted in."""
    with database.write() as session:
        for account, used, epoch in ((ada, 20, 3), (guest, 30, 0)):
            session.add(
                UsageCounter(
                    account_id=account.id, rule="tutor_messages", period_key="lifetime", used=used, epoch=epoch
                )
            )
        epochs = {"lifetime": 0, "2026-11": 5}
        session.add(message(guest, version, "m", state=MessageState.RESERVED, epochs=epochs))
    with database.write() as session:
        sign_in(session, session.get_one(Account, ada.id), BrowserContext(account_id=guest.id))
    with database.read() as session:
        counter = session.scalars(select(UsageCounter)).one()
        assert (counter.account_id, counter.used, counter.epoch) == (ada.id, 50, 3)
        assert session.scalars(select(TutorMessage)).one().epochs == {"lifetime": 3, "2026-11": -1}


def test_work_passes_from_guests_alone(database: Database, ada: Account, guest: Account, send: Submit) -> None:
    """The database itself refuses any other change of a submission, whoever comes to it."""
    of_ada, of_guest = send(account=ada), send(account=guest)
    for one, change in (
        (of_ada, {"account_id": guest.id}),
        (of_guest, {"account_id": ada.id, "source": "better"}),
        (of_guest, {"idempotency_key": "k"}),
        (of_guest, {"source": "better"}),
    ):
        statement = update(Submission).where(Submission.id == one.id).values(**change)
        with pytest.raises(DatabaseError, match="immutable"), database.write() as session:
            session.execute(statement.execution_options(synchronize_session=False))


def test_somebody_elses_account_is_never_merged(database: Database, ada: Account, account: Account) -> None:
    """Only a guest's work moves: who signs in over another account leaves it as it is."""
    with database.write() as session:
        sign_in(session, session.get_one(Account, ada.id), BrowserContext(account_id=account.id))
        assert session.get(Account, account.id) is not None


def test_blocked_account_can_do_nothing(database: Database, ada: Account) -> None:
    """Cookie, token, link and password are all refused, and by one sentence."""
    with database.write() as session:
        blocked = session.get_one(Account, ada.id)
        cookie, token = open_session(session, blocked), create_token(session, email=ADA)
        link = create_link(session, email=ADA)
        mailed = {purpose: make_link(session, blocked, purpose=purpose, email=ADA) for purpose in LinkPurpose}
        blocked.blocked_at = utc_now()
    ways: list[Callable[..., object]] = [
        lambda session: access_by_cookie(session, cookie),
        lambda session: access_by_bearer(session, token),
        lambda session: account_for_link(session, link),
        lambda session: sign_in_by_password(session, ada, BrowserContext()),
        lambda session: reset_password(session, mailed[LinkPurpose.RESET], password_hash="h"),  # noqa: S106
        lambda session: confirm(session, mailed[LinkPurpose.CONFIRM]),
    ]
    for way in ways:
        with pytest.raises(AccountBlocked), database.write() as session:
            way(session)


def test_password_that_was_changed_meanwhile_lets_nobody_in(database: Database, ada: Account) -> None:
    """Between looking at the password and signing in there is a moment."""
    with database.write() as session:
        session.get_one(Account, ada.id).password_hash = "another"  # noqa: S105
    with pytest.raises(SignInRefused), database.write() as session:
        sign_in_by_password(session, ada, BrowserContext())


def test_reset_works_once_and_ends_all_sessions(database: Database, ada: Account) -> None:
    """Whoever had got in is out again."""
    with database.write() as session:
        account = session.get_one(Account, ada.id)
        cookie, link = open_session(session, account), make_link(session, account, purpose=LinkPurpose.RESET)
    with database.write() as session:
        reset_password(session, link, password_hash="new")  # noqa: S106
        assert access_by_cookie(session, cookie) is None
    with pytest.raises(MailLinkSpent), database.write() as session:
        reset_password(session, link, password_hash="newer")  # noqa: S106


def test_link_is_good_for_its_purpose_alone(database: Database, ada: Account) -> None:
    """A link that confirms an address neither signs in nor sets a password; and of four the oldest is void."""
    with database.write() as session:
        account = session.get_one(Account, ada.id)
        older, *_, link = (make_link(session, account, purpose=LinkPurpose.CONFIRM, email=ADA) for _ in range(4))
        ways: list[Callable[[], object]] = [
            lambda: account_for_link(session, link),
            lambda: reset_password(session, link, password_hash="h"),  # noqa: S106
            lambda: confirm(session, older),
        ]
        for way in ways:
            with pytest.raises(AppError, match="can be used once"):
                way()
        assert confirm(session, link).confirmed_at is not None


def test_address_that_was_taken_meanwhile_is_not_confirmed(database: Database, ada: Account, guest: Account) -> None:
    """Until it is confirmed an address is nobody's."""
    with database.write() as session:
        link = make_link(session, session.get_one(Account, guest.id), purpose=LinkPurpose.CONFIRM, email=ADA)
    with pytest.raises(EmailTaken), database.write() as session:
        confirm(session, link)


def test_there_is_one_first_administrator(database: Database) -> None:
    """Of several concurrent ones one is made, and it is in the audit log."""

    def one(number: int) -> bool:
        try:
            with database.write() as session:
                make_first_admin(session, BrowserContext(), email=f"root{number}@example.org", password_hash="h")  # noqa: S106
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(one, range(6))) == 1
    with database.read() as session:
        assert has_admin(session)
        assert session.scalar(select(func.count()).where(Account.role == Role.ADMIN)) == 1
        assert session.scalars(select(AuditEntry.action)).all() == ["user.role"]


def test_deleted_account_leaves_no_row(
    database: Database, ada: Account, account: Account, version: ExerciseVersion, queue: LeaseQueue
) -> None:
    """Nothing in any table names it, but for codes that stay spent and the audit log; others keep all of theirs."""
    fill(database, ada, version, queue)
    with database.write() as session:
        submit(session, account=account, exercise_id=EXERCISE, source="hers = 1", queue=queue)
        delete_account(session, ada.id)
    with database.read() as session:
        named = {
            table.name
            for table in Base.metadata.sorted_tables
            for row in session.execute(select(table))
            if ada.id in json.dumps(list(row), default=str)
        }
        assert named == {"redeem_code", "audit_entry"}
        assert session.scalars(select(Submission.account_id)).all() == [account.id]
        assert session.execute(text("SELECT count(*) FROM job")).scalar() == 1


def test_export_holds_everything(database: Database, ada: Account, version: ExerciseVersion, queue: LeaseQueue) -> None:
    """Each table in which there is something of the account, and no hash of a secret."""
    fill(database, ada, version, queue)
    with database.read() as session:
        found = {table: list(rows) for table, rows in export_account(session, ada.id)}
        secrets = [*session.scalars(select(ApiToken.token_hash)), *session.scalars(select(BrowserSession.token_hash))]
    assert found["account"][0]["email"] == ADA
    assert found["submission"][0]["source"] == "mine = 1"
    assert {table for table, rows in found.items() if not rows} == {"grading_run"}
    assert not any(secret in json.dumps(found) for secret in ["the hash", *secrets])


def test_no_table_that_belongs_to_accounts_is_forgotten(database: Database) -> None:
    """A new table with an account in it has to be deleted and exported with it."""
    owned = {"account"}
    for _ in range(3):
        for table in Base.metadata.sorted_tables:
            if any(key.column.table.name in owned for key in table.foreign_keys):
                owned.add(table.name)
    assert owned == tables()
    with database.read() as session:
        assert owned <= set(inspect(session.connection()).get_table_names())
