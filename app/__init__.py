"""Kelolo's web server, worker and command line: everything that touches the database."""

__version__ = "0.1.0"
