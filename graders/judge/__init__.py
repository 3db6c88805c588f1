"""
What runs inside a judge's process: the reference, the checks and the words.

It never runs a line of the student's. It reads the student's observations, recomputes what should have
come out from the student's own tables, and says where the two differ.
"""
