"""
A submission may pass, once, from a guest to the account as which the guest signs in. Nothing else of it changes.

The old trigger refused every change. The new one lets two columns through, and these only together with
the owner's passing from a guest to somebody who is none: the owner, and a key for sending twice, which is
forgotten where the new owner has used the same.
"""

from alembic import op

revision = "8b1d2f6c4a70"
down_revision = "b7d04c5a92e8"
branch_labels = None
depends_on = None

SENTENCE = "submissions are immutable"
FIXED = ("id", "exercise_version_id", "kind", "source", "created_at")
ROLE_OF = "(SELECT role FROM account WHERE id = {row}.account_id)"
PASSES = f"{ROLE_OF.format(row='OLD')} = 'guest' AND {ROLE_OF.format(row='NEW')} <> 'guest'"


def upgrade() -> None:
    """Narrow the trigger."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER submission_refuse_change")
        same = " AND ".join(f"NEW.{column} IS OLD.{column}" for column in FIXED)
        keeps = "(NEW.idempotency_key IS OLD.idempotency_key OR NEW.idempotency_key IS NULL)"
        op.execute(
            f"CREATE TRIGGER submission_refuse_change BEFORE UPDATE ON submission "
            f"WHEN NOT ({same} AND {keeps} AND {PASSES}) BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
        )
        return
    same = " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in FIXED)
    keeps = "(NEW.idempotency_key IS NOT DISTINCT FROM OLD.idempotency_key OR NEW.idempotency_key IS NULL)"
    op.execute(
        "CREATE OR REPLACE FUNCTION submission_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF {same} AND {keeps} AND {PASSES} THEN RETURN NEW; END IF; "
        f"RAISE EXCEPTION '{SENTENCE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )


def downgrade() -> None:
    """Refuse every change again."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER submission_refuse_change")
        op.execute(
            "CREATE TRIGGER submission_refuse_change BEFORE UPDATE ON submission "
            f"BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
        )
        return
    op.execute(
        "CREATE OR REPLACE FUNCTION submission_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{SENTENCE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
