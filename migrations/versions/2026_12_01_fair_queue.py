"""
Jobs know the network that they came from, as a keyed hash, and whether a guest sent them.

What waits meanwhile is as if each account were a network of its own.
"""

import sqlalchemy as sa
from alembic import op

revision = "a3f5d80c17e2"
down_revision = "e91f0b6d24c7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, and fill them for what waits."""
    op.add_column("job", sa.Column("network", sa.String(), nullable=False, server_default=""))
    op.add_column("job", sa.Column("is_guest", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE job SET network = (SELECT account_id FROM submission WHERE submission.id = job.submission_id), "
        "is_guest = EXISTS (SELECT 1 FROM submission JOIN account ON account.id = submission.account_id "
        "WHERE submission.id = job.submission_id AND account.role = 'guest')"
    )


def downgrade() -> None:
    """Take the columns away. The order of what waits stays as it is."""
    op.drop_column("job", "is_guest")
    op.drop_column("job", "network")
