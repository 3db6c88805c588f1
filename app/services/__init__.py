"""
What Kelolo does, as functions that take an open Session and never commit.

Whoever opened the transaction (a request, a command, a worker) commits it, so that several
of these can stand or fall together.
"""
