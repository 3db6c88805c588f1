"""Wakeups: how processes tell each other that there is something to do, on one machine or through PostgreSQL."""
