"""What texts can switch for the whole process, put back between them."""

import os
import warnings

import torch


class Switches:
    """Noted before the first text has run."""

    def __init__(self) -> None:
        """Now."""
        self._home = os.getcwd()  # noqa: PTH109  as short as it gets, for it is put back on every trial
        self._filters = list(warnings.filters)

    def restore(self) -> None:
        """Gradients on, numbers and devices and how they are printed as torch begins, folder and warnings as noted."""
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)  # not "cpu", which would look into every call from then on
        torch.set_printoptions(profile="default")  # type: ignore[no-untyped-call]
        os.chdir(self._home)
        if warnings.filters != self._filters:
            warnings.resetwarnings()  # Python looks anew only after a call of its own
            warnings.filters = self._filters.copy()
