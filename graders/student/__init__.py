"""
What runs inside a student's process: a small harness that executes, looks and hands over.

It states no verdict and knows no expected value. All it says is an observation, which the judge, in
another process, holds against its own computation. Whatever a student's code does to this
harness, it can only spoil its own observation.
"""
