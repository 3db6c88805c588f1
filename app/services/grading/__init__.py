"""Grading: the queue of jobs, its adapters, the workers, and recording what came out."""
