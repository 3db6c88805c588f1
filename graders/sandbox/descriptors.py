"""A run holds five descriptors and no more: nothing is inherited by accident."""

import fcntl
import os
from collections.abc import Sequence

INLET = 3  # the parent's frames come in here
OUTLET = 4  # the one way out for frames
RULESETS = (5, 6)  # Landlock's, closed as soon as they are in force
_OUT_OF_THE_WAY = 32  # above all that are wanted, and below what a run may have at all


def arrange(*, inlet: int, outlet: int, printed: int, others: Sequence[int] = ()) -> None:
    """
    Put stdin on /dev/null, stdout and stderr on `printed`, the pipes on 3 and 4, `others` after them; close the rest.

    The sources are first copied far up, so that no dup2 overwrites one that is still needed.
    """
    null = os.open("/dev/null", os.O_RDWR)
    wanted = [null, printed, printed, inlet, outlet, *others]
    sources = [fcntl.fcntl(one, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for one in wanted]
    for target, source in enumerate(sources):
        os.dup2(source, target, inheritable=False)
    os.closerange(len(sources), os.sysconf("SC_OPEN_MAX"))
