"""Code that was typed and not sent, kept for whoever typed it."""

import sqlalchemy as sa
from alembic import op

revision = "a5c81e7d3f06"
down_revision = "e91f0b6d24c7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make draft."""
    op.create_table(
        "draft",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("exercise_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_draft_account_id"),
        sa.ForeignKeyConstraint(["exercise_id"], ["exercise.id"], name="fk_draft_exercise_id"),
        sa.PrimaryKeyConstraint("account_id", "exercise_id", "name", name="pk_draft"),
    )
    op.create_index("ix_draft_updated_at", "draft", ["updated_at"])


def downgrade() -> None:
    """Take it away, with what it holds."""
    op.drop_table("draft")
