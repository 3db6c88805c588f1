"""
What can go wrong that is nobody's fault but ours.

    GraderFault          the grader or the exercise cannot judge this submission, most likely not by the same seed
        MachineFault     a warm process has died, is silent or cannot fork: another try may well succeed
"""


class GraderFault(Exception):
    """
    The grader itself failed: logged, never charged to a student.

    Raised when the starting code or an exercise's own reference cannot be run, and when neither a submission nor the
    exercise's own solution can be judged.
    """


class MachineFault(GraderFault):
    """What a submission has no part in: processes that cannot be had. Worth trying again, perhaps with a new grader."""
