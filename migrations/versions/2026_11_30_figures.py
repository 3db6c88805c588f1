"""
What all processes have counted; and by which request a submission came, so that its way can be followed in the logs.

Submissions get a column and lose none of their rows or triggers: SQLite can add one in place.
"""

import sqlalchemy as sa
from alembic import op

revision = "e91f0b6d24c7"
down_revision = "c4e7a9d13b58"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make figure; add submission.request_id."""
    op.create_table(
        "figure",
        sa.Column("sample", sa.String(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("sample", name="pk_figure"),
    )
    op.add_column("submission", sa.Column("request_id", sa.String(), nullable=True))


def downgrade() -> None:
    """Take both away."""
    op.drop_column("submission", "request_id")
    op.drop_table("figure")
