"""One trial as the checks see it: the student's observation beside the reference solution on the same data."""
