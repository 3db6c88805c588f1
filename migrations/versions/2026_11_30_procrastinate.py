"""
Procrastinate's tables, on PostgreSQL only, and the number under which it has a job.

They are made from a copy of its schema, not from the package: a step that stands in the history must do the same
after the package was updated. Jobs that wait while the database is brought up to date are handed over.
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "c4e7a9d13b58"
down_revision = "8b1d2f6c4a70"
branch_labels = None
depends_on = None

SCHEMA = Path(__file__).parent.parent / "procrastinate-3.10.sql"

# As `app.services.grading.procrastinate_queue` has them.
HAND_OVER = """
UPDATE job SET
    state = 'queued', lease_owner = NULL, lease_token = NULL, lease_until = NULL,
    procrastinate_id = (procrastinate_defer_jobs_v1(ARRAY[ROW(
        'grading', 'grade', CASE kind WHEN 'live' THEN 0 ELSE -1000001 END - priority, NULL, NULL,
        jsonb_build_object('submission_id', submission_id), NULL
    )::procrastinate_job_to_defer_v1]))[1]
"""

FORGET = """
DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers CASCADE;
DO $$
DECLARE made regprocedure;
BEGIN
    FOR made IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE proname LIKE 'procrastinate\\_%' AND pronamespace = current_schema()::regnamespace
    LOOP
        EXECUTE 'DROP FUNCTION ' || made;
    END LOOP;
END $$;
DROP TYPE procrastinate_job_to_defer_v1, procrastinate_job_event_type, procrastinate_job_status;
"""


def upgrade() -> None:
    """Make them, and hand over what waits."""
    op.add_column("job", sa.Column("procrastinate_id", sa.BigInteger(), nullable=True))
    if op.get_bind().dialect.name == "postgresql":
        run(SCHEMA.read_text(encoding="utf-8"))
        run(HAND_OVER)


def downgrade() -> None:
    """Take them away. What waits is still there, in the table of jobs alone."""
    if op.get_bind().dialect.name == "postgresql":
        run(FORGET)
    op.drop_column("job", "procrastinate_id")


def run(statements: str) -> None:
    """Run several statements as they are: percent signs in them mean nothing."""
    op.get_bind().exec_driver_sql(statements, execution_options={"no_parameters": True})
