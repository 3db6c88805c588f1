"""Authentication of a request: who is asking, by session cookie, token or as a guest."""
