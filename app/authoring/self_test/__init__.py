"""The proof of an exercise before it is published: its own solution, mutants, slips, and many draws of its data."""
