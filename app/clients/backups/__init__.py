"""
Copies of a whole database in one file, and databases made from them: SQLite's and PostgreSQL's own ways.

Theory of operation: what is written stands under a temporary name in the folder where it is to be, is checked and
flushed there, and only then gets its name. What is put back is built and checked beside the database in use, which
is exchanged for it in one step and kept under another name. So whatever breaks, and whenever, there is a whole old
one or a whole new one, and never half of either.
"""

from app.clients.backups.errors import BackupRefused

__all__ = ["BackupRefused"]
