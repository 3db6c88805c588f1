"""The tutor: what an engine is given, and what of its answer reaches the student."""
