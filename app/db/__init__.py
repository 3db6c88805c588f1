"""The database: connections, column types and migrations. What the tables hold is in `app.models`."""

from app.db.base import Base, UtcDateTime, new_id
from app.db.database import Database, upsert

__all__ = ["Base", "Database", "UtcDateTime", "new_id", "upsert"]
