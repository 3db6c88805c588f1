"""What can go wrong that is nobody's fault but ours."""


class GraderFault(Exception):
    """
    The grader itself failed: logged, retried, never charged to a student.

    Raised when a warm process dies, a judge run ends without an outcome, or an exercise's own
    reference cannot be run.
    """
