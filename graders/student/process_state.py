"""
What a program switches in its process beside its own names, and how that is undone before the next trial.

Here is what is plain and costs microseconds: settings of Python, torch and numpy that are read and written in one
step. It is not all that can leak from a trial into the next one, and need not be: where a trial fails after another
has run in its process, it is run again in a process of its own (`graders.grader`), and only what fails there counts.
What is looked at here is what hardly anything else touches: to go through the table of modules would copy a page of
memory for each.
"""

import _signal  # type: ignore[import-not-found]  # without the enumerations of `signal`, looked up in Python
import builtins
import contextlib
import ctypes
import gc
import logging
import os
import random
import sys
import threading
import warnings

import numpy as np
import torch
from numpy.random.mtrand import get_bit_generator, set_bit_generator

_TIMERS = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
_SIGNALS = tuple(sorted(_signal.valid_signals()))
_TENSORS_PRINTED = torch._tensor_str.PRINT_OPTS  # noqa: SLF001  set, but not told, by a function of torch's
_ENVIRONMENT = os.environ
# what lies below it: to decode each anew takes longer than all the rest here
_ENVIRONMENT_BYTES: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001
_GENERATOR_BYTES = 625 * 4  # of numpy's MT19937: the words, and how many of them are used up


def _generator_state(generator: np.random.BitGenerator) -> bytes:
    """The state of numpy's global generator, as it lies in memory."""
    return ctypes.string_at(generator.ctypes.state_address, _GENERATOR_BYTES)


class ProcessState:
    """The settings of this process, to go back to."""

    def __init__(self) -> None:
        """As they are."""
        self._randomness = random.getstate(), torch.get_rng_state(), np.random.get_state()  # noqa: NPY002  the global one
        self._generator = get_bit_generator()
        self._generator_bytes = _generator_state(self._generator)
        self._builtins = dict(vars(builtins))
        self._environment = dict(_ENVIRONMENT_BYTES)
        self._path, self._recursion_limit = list(sys.path), sys.getrecursionlimit()
        self._stdin = sys.stdin
        self._warnings = list(warnings.filters), warnings.showwarning
        self._logging = logging.root.level, list(logging.root.handlers)
        self._handlers = {number: _signal.getsignal(number) for number in _SIGNALS}
        self._numpy_errors = np.geterr()
        self._arrays_printed, self._tensors_printed = np.get_printoptions(), dict(vars(_TENSORS_PRINTED))

    def restore(self) -> None:
        """Undo what can be undone; what a student has put out of reach stays as it is."""
        for part in (
            self._restore_python, self._restore_tables, self._restore_messages, self._restore_signals,
            self._restore_numbers,
        ):  # fmt: skip
            with contextlib.suppress(Exception):
                part()

    def restore_torch(self) -> None:
        """What decides which numbers come out."""
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)  # not "cpu", which would look into every call from then on
        random.setstate(self._randomness[0])
        torch.set_rng_state(self._randomness[1])

    def _restore_python(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        sys.setrecursionlimit(self._recursion_limit)
        sys.excepthook, sys.displayhook = sys.__excepthook__, sys.__displayhook__
        threading.excepthook = threading.__excepthook__
        sys.argv = ["main.py"]
        sys.path[:] = self._path
        gc.callbacks.clear()
        sys.stdin = open(0, encoding="utf-8", closefd=False) if self._stdin.closed else self._stdin  # noqa: SIM115

    def _restore_tables(self) -> None:
        if vars(builtins) != self._builtins:
            vars(builtins).update(self._builtins)
        os.environ = _ENVIRONMENT  # noqa: B003  the object, should another have been put in its place
        if self._environment != _ENVIRONMENT_BYTES:
            os.environ.clear()
            os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in self._environment.items()})

    def _restore_messages(self) -> None:
        warnings.resetwarnings()  # says that what was worked out from the filters is out of date
        warnings.filters[:] = self._warnings[0]  # type: ignore[index]
        warnings.showwarning = self._warnings[1]
        logging.root.handlers[:] = self._logging[1]
        # only where it differs: setting a level makes every logger forget what it knows of levels, hundreds of pages
        if logging.root.level != self._logging[0]:
            logging.root.setLevel(self._logging[0])
        if logging.root.manager.disable != logging.NOTSET:
            logging.disable(logging.NOTSET)

    def _restore_signals(self) -> None:
        for timer in _TIMERS:
            _signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and _signal.getsignal(number) is not handler:
                _signal.signal(number, handler)

    def _restore_numbers(self) -> None:
        if get_bit_generator() is not self._generator:
            set_bit_generator(self._generator)
        if _generator_state(self._generator) != self._generator_bytes:  # to set it takes as long as all the rest here
            np.random.set_state(self._randomness[2])  # noqa: NPY002
        np.seterr(**self._numpy_errors)
        if np.get_printoptions() != self._arrays_printed:
            np.set_printoptions(**self._arrays_printed)
        if vars(_TENSORS_PRINTED) != self._tensors_printed:
            vars(_TENSORS_PRINTED).update(self._tensors_printed)
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
        if torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(False)  # noqa: FBT003
