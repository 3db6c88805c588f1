"""
Alembic's entry: runs the steps on the connection that `app.db.migrate` hands over.

From Alembic's own command line there is none, and the settings say where the database is.
"""

from alembic import context
from sqlalchemy import Connection, text

from app.db import Database
from app.db.migrate import is_modelled
from app.models import Base
from app.settings import Settings

# Any number: it only has to be the same for all who migrate.
ADVISORY_LOCK = 7305201126


def migrate(connection: Connection) -> None:
    """Run the steps in the transaction that is open, so that all take effect or none."""
    if connection.dialect.name == "postgresql":
        # Two servers that start at once: the second waits, and finds nothing left to do. On
        # SQLite the transaction itself, being one that writes, makes it wait.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        transactional_ddl=True,
        compare_type=True,
        include_name=is_modelled,
        render_as_batch=connection.dialect.name == "sqlite",
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    database = Database(Settings().database_url)
    with database.write() as session:
        migrate(session.connection())
