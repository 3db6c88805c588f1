"""The warm processes: torch imported once, forked for each run."""
