"""Accounts: signing up and in, and the pages and API of one's own account."""
