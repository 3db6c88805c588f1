"""The student's values: reading them, comparing them, and how exact they can be."""
