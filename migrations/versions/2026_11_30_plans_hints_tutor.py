"""
Plans and their limits, what was used of them, hints that were opened, the tutor's ledger, and the audit log.

An entry of the audit log never changes and never goes, whoever comes to the database: a trigger says so.
"""

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "5f2c9d81e6a3"
down_revision = "3d0e6a1b7c24"
branch_labels = None
depends_on = None

REFUSAL = "the audit log is only added to"


def upgrade() -> None:
    """Make the tables, and put the two plans in."""
    widen_accounts()
    make_plans()
    make_exceptions()
    make_codes()
    make_usage()
    make_hints()
    make_tutor()
    make_spending()
    make_audit()
    seed()


def widen_accounts() -> None:
    """Add what accounts have learned to do."""
    op.add_column("account", moment("confirmed_at", nullable=True))
    op.add_column("account", moment("blocked_at", nullable=True))
    op.add_column("browser_session", sa.Column("browser", sa.String(), nullable=False, server_default=""))
    op.add_column("sign_in_link", sa.Column("purpose", sa.String(20), nullable=False, server_default="sign-in"))
    op.add_column("sign_in_link", text("email", nullable=True))
    op.add_column("api_token", sa.Column("scopes", sa.String(), nullable=False, server_default="read write admin"))
    op.add_column("api_token", moment("expires_at", nullable=True))
    op.create_table(
        "identity",
        text("id"),
        text("account_id"),
        text("issuer"),
        text("subject"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_identity"),
        sa.UniqueConstraint("issuer", "subject", name="uq_identity_issuer_subject"),
        belongs("identity", "account_id", "account.id"),
    )
    op.create_index("ix_identity_account_id", "identity", ["account_id"])


def make_plans() -> None:
    """Make plan, plan_limit and account_plan."""
    op.create_table(
        "plan", text("name"), text("title"), number("position"), sa.PrimaryKeyConstraint("name", name="pk_plan")
    )
    op.create_table(
        "plan_limit",
        text("plan_name"),
        *limit(),
        sa.PrimaryKeyConstraint("plan_name", "rule", name="pk_plan_limit"),
        belongs("plan_limit", "plan_name", "plan.name"),
    )
    op.create_table(
        "account_plan",
        text("id"),
        text("account_id"),
        text("plan_name"),
        moment("starts_at"),
        moment("ends_at", nullable=True),
        text("origin"),
        sa.PrimaryKeyConstraint("id", name="pk_account_plan"),
        belongs("account_plan", "account_id", "account.id"),
        belongs("account_plan", "plan_name", "plan.name"),
    )
    op.create_index("ix_account_plan_account_id_starts_at", "account_plan", ["account_id", "starts_at"])


def make_exceptions() -> None:
    """Make limit_override and grant."""
    op.create_table(
        "limit_override",
        text("account_id"),
        *limit(),
        sa.PrimaryKeyConstraint("account_id", "rule", name="pk_limit_override"),
        belongs("limit_override", "account_id", "account.id"),
    )
    op.create_table(
        "grant",
        text("id"),
        text("account_id"),
        word("rule"),
        number("amount"),
        number("used"),
        moment("expires_at", nullable=True),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_grant"),
        belongs("grant", "account_id", "account.id"),
    )
    op.create_index("ix_grant_account_id", "grant", ["account_id"])


def make_codes() -> None:
    """Make redeem_code."""
    op.create_table(
        "redeem_code",
        text("id"),
        text("code_hash"),
        text("batch"),
        text("plan_name"),
        number("plan_days", nullable=True),
        moment("expires_at", nullable=True),
        moment("created_at"),
        text("redeemed_by", nullable=True),
        moment("redeemed_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_redeem_code"),
        sa.UniqueConstraint("code_hash", name="uq_redeem_code_code_hash"),
        belongs("redeem_code", "plan_name", "plan.name"),
    )
    op.create_index("ix_redeem_code_batch", "redeem_code", ["batch"])


def make_usage() -> None:
    """Make usage_counter."""
    op.create_table(
        "usage_counter",
        text("account_id"),
        text("rule"),
        text("period_key"),
        number("used"),
        number("epoch"),
        sa.PrimaryKeyConstraint("account_id", "rule", "period_key", name="pk_usage_counter"),
        belongs("usage_counter", "account_id", "account.id"),
    )


def make_hints() -> None:
    """Make hint_opening."""
    op.create_table(
        "hint_opening",
        text("id"),
        text("account_id"),
        text("exercise_version_id"),
        number("rung"),
        number("attempt"),
        flag("offered"),
        moment("opened_at"),
        sa.PrimaryKeyConstraint("id", name="pk_hint_opening"),
        sa.UniqueConstraint(
            "account_id", "exercise_version_id", "rung", name="uq_hint_opening_account_id_exercise_version_id_rung"
        ),
        belongs("hint_opening", "account_id", "account.id"),
        belongs("hint_opening", "exercise_version_id", "exercise_version.id"),
    )
    op.create_index("ix_hint_opening_exercise_version_id", "hint_opening", ["exercise_version_id"])


def make_tutor() -> None:
    """Make tutor_message."""
    op.create_table(
        "tutor_message",
        text("id"),
        text("account_id"),
        text("exercise_version_id"),
        text("client_message_id"),
        text("question"),
        text("answer"),
        sa.Column("sources", sa.JSON(), nullable=False),
        text("engine"),
        word("state"),
        flag("charged"),
        text("grant_id", nullable=True),
        sa.Column("epochs", sa.JSON(), nullable=False),
        number("attempts"),
        text("owner"),
        moment("reserved_at"),
        moment("lease_until"),
        moment("settled_at", nullable=True),
        moment("released_at", nullable=True),
        text("reason"),
        number("rating", nullable=True),
        number("tokens_reserved"),
        number("tokens_spent"),
        sa.PrimaryKeyConstraint("id", name="pk_tutor_message"),
        sa.UniqueConstraint("account_id", "client_message_id", name="uq_tutor_message_account_id_client_message_id"),
        belongs("tutor_message", "account_id", "account.id"),
        belongs("tutor_message", "exercise_version_id", "exercise_version.id"),
        belongs("tutor_message", "grant_id", "grant.id"),
    )
    op.create_index(
        "ix_tutor_message_account_id_exercise_version_id_reserved_at",
        "tutor_message",
        ["account_id", "exercise_version_id", "reserved_at"],
    )
    op.create_index("ix_tutor_message_state_lease_until", "tutor_message", ["state", "lease_until"])


def make_spending() -> None:
    """Make token_month and tutor_policy."""
    op.create_table(
        "token_month",
        text("month"),
        number("reserved"),
        number("spent"),
        sa.PrimaryKeyConstraint("month", name="pk_token_month"),
    )
    op.create_table(
        "tutor_policy",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        number("month_token_ceiling"),
        number("failures_per_day"),
        sa.PrimaryKeyConstraint("id", name="pk_tutor_policy"),
    )


def make_audit() -> None:
    """Make audit_entry, and the triggers that keep it."""
    op.create_table(
        "audit_entry",
        text("id"),
        moment("at"),
        text("actor_id"),
        text("actor"),
        text("action"),
        text("subject_kind"),
        text("subject_id"),
        text("subject"),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        text("reason"),
        sa.PrimaryKeyConstraint("id", name="pk_audit_entry"),
    )
    for column in ("at", "actor_id", "action", "subject_id"):
        op.create_index(f"ix_audit_entry_{column}", "audit_entry", [column])
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_entry_refuse_{change.lower()} BEFORE {change} ON audit_entry "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
    else:
        op.execute(
            "CREATE FUNCTION audit_entry_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_entry_refuse_change BEFORE UPDATE OR DELETE ON audit_entry "
            "FOR EACH ROW EXECUTE FUNCTION audit_entry_refuse_change()"
        )


def seed() -> None:
    """Put in the two plans of a new installation, and what the tutor may do at first."""
    plan = sa.table("plan", sa.column("name"), sa.column("title"), sa.column("position"))
    limits = sa.table(
        "plan_limit", *(sa.column(name) for name in ("plan_name", "rule", "amount", "period", "fair_use_per_day"))
    )
    policy = sa.table("tutor_policy", *(sa.column(name) for name in ("id", "month_token_ceiling", "failures_per_day")))
    op.bulk_insert(
        plan, [{"name": "free", "title": "Free", "position": 0}, {"name": "pro", "title": "PRO", "position": 1}]
    )
    # 600 checks a minute stop a script that has run wild; no person and no class notices.
    op.bulk_insert(
        limits,
        [
            {"plan_name": name, "rule": rule, "amount": amount, "period": period, "fair_use_per_day": fair_use}
            for name, rule, amount, period, fair_use in (
                ("free", "tutor_messages", 30, "lifetime", None),
                ("free", "checks", 600, "minute", None),
                ("pro", "tutor_messages", None, "month", 500),
                ("pro", "checks", 600, "minute", None),
            )
        ],
    )
    op.bulk_insert(policy, [{"id": 1, "month_token_ceiling": 0, "failures_per_day": 30}])


def downgrade() -> None:
    """Take all of it away."""
    for table in ("tutor_policy", "token_month", "tutor_message", "hint_opening", "usage_counter", "redeem_code"):
        op.drop_table(table)
    for table in ("grant", "limit_override", "account_plan", "plan_limit", "plan", "identity", "audit_entry"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_entry_refuse_change()")
    for table, columns in (
        ("api_token", ("expires_at", "scopes")),
        ("sign_in_link", ("email", "purpose")),
        ("browser_session", ("browser",)),
        ("account", ("blocked_at", "confirmed_at")),
    ):
        for column in columns:
            op.drop_column(table, column)


def limit() -> list[sa.Column[object]]:
    """Return the columns of a limit."""
    return [word("rule"), number("amount", nullable=True), word("period"), number("fair_use_per_day", nullable=True)]


def text(name: str, *, nullable: bool = False) -> sa.Column[object]:
    """Return a column of text."""
    return sa.Column(name, sa.String(), nullable=nullable)


def word(name: str) -> sa.Column[object]:
    """Return a column for a member of an enumeration."""
    return sa.Column(name, sa.String(20), nullable=False)


def number(name: str, *, nullable: bool = False) -> sa.Column[object]:
    """Return a column of whole numbers."""
    return sa.Column(name, sa.Integer(), nullable=nullable)


def flag(name: str) -> sa.Column[object]:
    """Return a column of yes and no."""
    return sa.Column(name, sa.Boolean(), nullable=False)


def moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    """Return a column of moments."""
    return sa.Column(name, UtcDateTime(), nullable=nullable)


def belongs(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    """Return a foreign key, named as all are."""
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}")
