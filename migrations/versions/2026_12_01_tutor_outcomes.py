"""What became of each question to the tutor, and an administrator's words on how one gets more messages."""

import sqlalchemy as sa
from alembic import op

revision = "c27d94e1b8f3"
down_revision = "a3f5d80c17e2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; what was asked before counts as answered."""
    op.add_column("tutor_message", sa.Column("outcome", sa.String(), nullable=False, server_default="answered"))
    op.create_index("ix_tutor_message_outcome_settled_at", "tutor_message", ["outcome", "settled_at"])
    op.add_column("tutor_policy", sa.Column("upgrade_text", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    """Take them away."""
    op.drop_column("tutor_policy", "upgrade_text")
    op.drop_index("ix_tutor_message_outcome_settled_at", "tutor_message")
    op.drop_column("tutor_message", "outcome")
