"""
Sections of lessons and tasks, searched by their words.

SQLite keeps an FTS5 table of its own, which triggers keep in step. PostgreSQL works the words out itself, in a
column. In both, words are cut to their stems, as English is.
"""

import sqlalchemy as sa
from alembic import op

revision = "b7d04c5a92e8"
down_revision = "5f2c9d81e6a3"
branch_labels = None
depends_on = None

FORGET = "INSERT INTO passage_search(passage_search, rowid, title, text) VALUES ('delete', old.id, old.title, old.text)"
LEARN = "INSERT INTO passage_search(rowid, title, text) VALUES (new.id, new.title, new.text)"
TRIGGERS = {"INSERT": (LEARN,), "DELETE": (FORGET,), "UPDATE": (FORGET, LEARN)}
SEARCH = (
    "CREATE VIRTUAL TABLE passage_search USING fts5(title, text, content='passage', content_rowid='id', "
    "tokenize='porter unicode61 remove_diacritics 2')"
)
WORDS = (
    "ALTER TABLE passage ADD COLUMN words tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') "
    "|| setweight(to_tsvector('english', text), 'D')) STORED"
)


def upgrade() -> None:
    """Make the table, and what searches it. The rows come with the next import."""
    op.create_table(
        "passage",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lesson_id", sa.String(), nullable=False),
        sa.Column("exercise_id", sa.String(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("anchor", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_passage"),
        sa.ForeignKeyConstraint(["lesson_id"], ["lesson.id"], name="fk_passage_lesson_id"),
        sa.ForeignKeyConstraint(["exercise_id"], ["exercise.id"], name="fk_passage_exercise_id"),
    )
    op.create_index("ix_passage_lesson_id", "passage", ["lesson_id"])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(SEARCH)
        for change, steps in TRIGGERS.items():
            op.execute(
                f"CREATE TRIGGER passage_search_after_{change.lower()} AFTER {change} ON passage "
                f"BEGIN {'; '.join(steps)}; END"
            )
    else:
        op.execute(WORDS)
        op.execute("CREATE INDEX ix_passage_words ON passage USING gin (words)")


def downgrade() -> None:
    """Take it away; the triggers, the column and its index go with the table."""
    op.drop_table("passage")
    if op.get_bind().dialect.name == "sqlite":
        op.drop_table("passage_search")
