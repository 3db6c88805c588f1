"""Hints: opening one, and how they are used."""
