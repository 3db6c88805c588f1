"""HTTP: what every request and answer has in common."""
