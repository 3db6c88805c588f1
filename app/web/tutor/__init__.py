"""The tutor: asking, reading along, and rating an answer."""
