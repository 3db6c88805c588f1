"""The tutor: what it is given, what it may say, and the ledger of its answers."""
