"""The database: connections, column types and migrations. What the tables hold is in `app.models`."""

from app.db.base import Base, UtcDateTime, new_id
from app.db.database import Database, updated_rows, upsert

__all__ = ["Base", "Database", "UtcDateTime", "new_id", "updated_rows", "upsert"]
