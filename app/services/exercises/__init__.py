"""Exercises: courses taken in from files, found again, searched, and how far an account has come."""
