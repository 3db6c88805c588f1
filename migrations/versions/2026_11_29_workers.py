"""
Which workers there are, and behind which walls they grade.

A worker that is killed cannot take its row away, so the time at which it was last seen counts.
"""

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "b7c1f4a90d52"
down_revision = "e1da2a41f11f"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make worker."""
    op.create_table(
        "worker",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("walls", sa.JSON(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("owner", name="pk_worker"),
    )
    op.create_index("ix_worker_seen_at", "worker", ["seen_at"])


def downgrade() -> None:
    """Take worker away."""
    op.drop_table("worker")
