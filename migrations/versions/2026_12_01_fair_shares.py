"""
Fair shares: jobs know the network that they came from, as a keyed hash, and whether a guest sent them.

What waits meanwhile is as if each account were a network of its own. Besides: an index by which old runs are found,
and what deleted accounts had used, by a keyed hash of their addresses.
"""

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "a3f5d80c17e2"
down_revision = "a5c81e7d3f06"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, and fill them for what waits; make the index and the table."""
    op.add_column("job", sa.Column("network", sa.String(), nullable=False, server_default=""))
    op.add_column("job", sa.Column("is_guest", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE job SET network = (SELECT account_id FROM submission WHERE submission.id = job.submission_id), "
        "is_guest = EXISTS (SELECT 1 FROM submission JOIN account ON account.id = submission.account_id "
        "WHERE submission.id = job.submission_id AND account.role = 'guest')"
    )
    runs = sa.text("kind = 'run'")
    op.create_index("ix_submission_runs", "submission", ["created_at"], sqlite_where=runs, postgresql_where=runs)
    op.create_table(
        "spent_allowance",
        sa.Column("address_hash", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("period_key", sa.String(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("kept_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("address_hash", "rule", "period_key", name="pk_spent_allowance"),
    )
    op.create_index("ix_spent_allowance_kept_until", "spent_allowance", ["kept_until"])


def downgrade() -> None:
    """Take all of it away. The order of what waits stays as it is."""
    op.drop_table("spent_allowance")
    op.drop_index("ix_submission_runs", table_name="submission")
    op.drop_column("job", "is_guest")
    op.drop_column("job", "network")
