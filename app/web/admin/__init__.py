"""Administration: the pages and the HTTP API of administrators."""
