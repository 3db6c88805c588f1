"""Addresses that sign in whoever opens them first: how an administrator gets in without a password."""

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "3d0e6a1b7c24"
down_revision = "b7c1f4a90d52"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make sign_in_link."""
    op.create_table(
        "sign_in_link",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_sign_in_link"),
        sa.UniqueConstraint("token_hash", name="uq_sign_in_link_token_hash"),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name="fk_sign_in_link_account_id"),
    )
    op.create_index("ix_sign_in_link_account_id", "sign_in_link", ["account_id"])


def downgrade() -> None:
    """Take sign_in_link away."""
    op.drop_table("sign_in_link")
