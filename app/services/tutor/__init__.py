"""The tutor that stands beside an exercise: what it is given, how it answers, and what that costs."""
