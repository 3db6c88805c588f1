"""Limits: how often, how many at once and how long something may be done, before any of it is."""
