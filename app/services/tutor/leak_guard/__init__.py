"""The leak guard: what gives a solution away, in whatever spelling, and an answer let through without it."""
