"""Accounts: authentication, sessions, passwords, identities, guests, and the e-mails that go with them."""
