"""Runs students' code behind walls and judges what it made. Knows nothing of the web or the database."""
