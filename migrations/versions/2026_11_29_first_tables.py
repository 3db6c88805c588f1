"""
The first tables: accounts, exercises and their versions, submissions, runs, the queue.

Two rules are kept by triggers as well, because they must hold for whoever comes to the
database by another way than ours: a submission never changes, and of a run nothing but
whether it counts.
"""

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "e1da2a41f11f"
down_revision = None
branch_labels = None
depends_on = None

RUN_FIXED = (
    "id",
    "submission_id",
    "attempt",
    "lease_token",
    "seed",
    "verdict",
    "report",
    "worker",
    "started_at",
    "finished_at",
)


def upgrade() -> None:
    """Make the tables, and the triggers on two of them."""
    make_accounts()
    make_exercises()
    make_submissions()
    make_runs()
    make_jobs()
    if op.get_bind().dialect.name == "sqlite":
        refuse_on_sqlite("submission", "UPDATE", "submissions are immutable")
        refuse_on_sqlite("grading_run", f"UPDATE OF {', '.join(RUN_FIXED)}", "recorded runs are immutable")
    else:
        refuse_on_postgresql("submission", "UPDATE", "submissions are immutable")
        refuse_on_postgresql("grading_run", f"UPDATE OF {', '.join(RUN_FIXED)}", "recorded runs are immutable")


def downgrade() -> None:
    """Drop everything, with all that was stored."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    if is_postgresql:
        op.drop_constraint("fk_exercise_current_version_id", "exercise", type_="foreignkey")
    for table in ("job", "grading_run", "submission"):
        op.drop_table(table)
    if is_postgresql:
        op.execute("DROP FUNCTION submission_refuse_change()")
        op.execute("DROP FUNCTION grading_run_refuse_change()")
    for table in ("exercise_version", "exercise", "lesson", "course"):
        op.drop_table(table)
    for table in ("api_token", "browser_session", "account"):
        op.drop_table(table)


def make_accounts() -> None:
    """Make account, browser_session and api_token."""
    op.create_table(
        "account",
        text("id"),
        text("email", nullable=True),
        word("role"),
        text("password_hash", nullable=True),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint("email", name="uq_account_email"),
    )
    op.create_table(
        "browser_session",
        text("id"),
        text("token_hash"),
        text("account_id"),
        moment("created_at"),
        moment("expires_at"),
        moment("revoked_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_browser_session"),
        sa.UniqueConstraint("token_hash", name="uq_browser_session_token_hash"),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_browser_session_account_id"),
    )
    op.create_index("ix_browser_session_account_id", "browser_session", ["account_id"])
    op.create_table(
        "api_token",
        text("id"),
        text("token_hash"),
        text("account_id"),
        text("label"),
        moment("created_at"),
        moment("revoked_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.UniqueConstraint("token_hash", name="uq_api_token_token_hash"),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_api_token_account_id"),
    )
    op.create_index("ix_api_token_account_id", "api_token", ["account_id"])


def make_exercises() -> None:
    """Make course, lesson, exercise and exercise_version."""
    op.create_table(
        "course",
        text("id"),
        text("title"),
        text("summary"),
        number("position"),
        sa.PrimaryKeyConstraint("id", name="pk_course"),
    )
    op.create_table(
        "lesson",
        text("id"),
        text("course_id", nullable=True),
        text("title"),
        text("markdown"),
        number("position"),
        sa.PrimaryKeyConstraint("id", name="pk_lesson"),
        sa.ForeignKeyConstraint(["course_id"], ["course.id"], name="fk_lesson_course_id"),
    )
    op.create_index("ix_lesson_course_id", "lesson", ["course_id"])
    make_exercise()
    op.create_table(
        "exercise_version",
        text("id"),
        text("exercise_id"),
        number("number"),
        text("fingerprint"),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("task", sa.JSON(), nullable=False),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_exercise_version"),
        sa.UniqueConstraint("exercise_id", "number", name="uq_exercise_version_exercise_id_number"),
        sa.UniqueConstraint("exercise_id", "fingerprint", name="uq_exercise_version_exercise_id_fingerprint"),
        sa.ForeignKeyConstraint(["exercise_id"], ["exercise.id"], name="fk_exercise_version_exercise_id"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_foreign_key(
            "fk_exercise_current_version_id", "exercise", "exercise_version", ["current_version_id"], ["id"]
        )


def make_exercise() -> None:
    """Make the table that points at exercise_version, which points back."""
    columns: list[sa.schema.SchemaItem] = [
        text("id"),
        text("lesson_id", nullable=True),
        number("position"),
        text("current_version_id", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_exercise"),
        sa.ForeignKeyConstraint(["lesson_id"], ["lesson.id"], name="fk_exercise_lesson_id"),
    ]
    if op.get_bind().dialect.name == "sqlite":
        # SQLite cannot add it later, but takes a key to a table that is not there yet.
        columns.append(
            sa.ForeignKeyConstraint(
                ["current_version_id"], ["exercise_version.id"], name="fk_exercise_current_version_id"
            )
        )
    op.create_table("exercise", *columns)
    op.create_index("ix_exercise_lesson_id", "exercise", ["lesson_id"])


def make_submissions() -> None:
    """Make submission."""
    op.create_table(
        "submission",
        text("id"),
        text("account_id"),
        text("exercise_version_id"),
        word("kind"),
        text("source"),
        text("idempotency_key", nullable=True),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_submission"),
        sa.UniqueConstraint("account_id", "idempotency_key", name="uq_submission_account_id_idempotency_key"),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_submission_account_id"),
        sa.ForeignKeyConstraint(
            ["exercise_version_id"], ["exercise_version.id"], name="fk_submission_exercise_version_id"
        ),
    )
    op.create_index(
        "ix_submission_account_id_exercise_version_id_created_at",
        "submission",
        ["account_id", "exercise_version_id", "created_at"],
    )
    op.create_index("ix_submission_exercise_version_id", "submission", ["exercise_version_id"])


def make_runs() -> None:
    """Make grading_run, of which one for each submission may count."""
    op.create_table(
        "grading_run",
        text("id"),
        text("submission_id"),
        number("attempt"),
        text("lease_token"),
        text("seed"),
        text("verdict"),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        text("worker"),
        moment("started_at"),
        moment("finished_at"),
        sa.PrimaryKeyConstraint("id", name="pk_grading_run"),
        sa.UniqueConstraint("submission_id", "attempt", name="uq_grading_run_submission_id_attempt"),
        sa.UniqueConstraint("lease_token", name="uq_grading_run_lease_token"),
        sa.ForeignKeyConstraint(["submission_id"], ["submission.id"], name="fk_grading_run_submission_id"),
    )
    op.create_index("ix_grading_run_verdict", "grading_run", ["verdict"])
    op.create_index(
        "uq_grading_run_counting",
        "grading_run",
        ["submission_id"],
        unique=True,
        sqlite_where=sa.text("counts"),
        postgresql_where=sa.text("counts"),
    )


def make_jobs() -> None:
    """Make job."""
    op.create_table(
        "job",
        text("submission_id"),
        word("kind"),
        number("priority"),
        word("state"),
        number("attempts"),
        text("lease_owner", nullable=True),
        text("lease_token", nullable=True),
        moment("lease_until", nullable=True),
        moment("enqueued_at"),
        sa.PrimaryKeyConstraint("submission_id", name="pk_job"),
        sa.ForeignKeyConstraint(["submission_id"], ["submission.id"], name="fk_job_submission_id"),
    )
    op.create_index("ix_job_state_kind_priority_enqueued_at", "job", ["state", "kind", "priority", "enqueued_at"])


def refuse_on_sqlite(table: str, change: str, sentence: str) -> None:
    """Make a trigger that refuses a change."""
    op.execute(
        f"CREATE TRIGGER {table}_refuse_change BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{sentence}'); END"
    )


def refuse_on_postgresql(table: str, change: str, sentence: str) -> None:
    """Make the same trigger, which PostgreSQL wants as a function."""
    op.execute(
        f"CREATE FUNCTION {table}_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{sentence}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_refuse_change BEFORE {change} ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse_change()"
    )


def text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    """Return a column of text."""
    return sa.Column(name, sa.String(), nullable=nullable)


def word(name: str) -> sa.Column[str]:
    """Return a column for one word out of a fixed few."""
    return sa.Column(name, sa.String(length=20), nullable=False)


def number(name: str) -> sa.Column[int]:
    """Return a column of whole numbers."""
    return sa.Column(name, sa.Integer(), nullable=False)


def moment(name: str, *, nullable: bool = False) -> sa.Column[sa.DateTime]:
    """Return a column for a time in UTC."""
    return sa.Column(name, UtcDateTime(), nullable=nullable)
