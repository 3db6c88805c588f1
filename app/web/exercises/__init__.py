"""Exercises: the catalogue, and the page of an exercise."""
