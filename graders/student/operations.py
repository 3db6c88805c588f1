"""
Which operations of torch really ran while a program did: for exercises that ask, and at no cost for others.

Two looks at once. Torch's own dispatcher says what ran in the end, whatever it was called by: a built string, a layer,
a compiled function. The functions of torch say by which name it was called, and see what is only made of other
operations (`cross_entropy`). Both looks hold for one thread, so each thread that is begun meanwhile gets its own.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from graders.protocol.observation_schema import MAX_CALLS, MAX_NAME_CHARS

_MODULES = {"_VariableFunctionsClass": "torch", "TensorBase": "torch.Tensor", "Tensor": "torch.Tensor"}


class _Ran(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, seen: set[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        _note(self._seen, str(func.name()))
        return func(*args, **(kwargs or {}))


class _Called(TorchFunctionMode):
    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self._seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        _note(self._seen, _name(func))
        return func(*args, **(kwargs or {}))


def _note(seen: set[str], name: str) -> None:
    if len(seen) < MAX_CALLS:
        seen.add(name[:MAX_NAME_CHARS])


def _name(func: Any) -> str:  # noqa: ANN401  a function, a method, or an operator of torch's
    """The full dotted name that a function of torch is called by."""
    name = str(getattr(func, "__name__", ""))
    owner = getattr(func, "__objclass__", None) or getattr(func, "__self__", None)
    kind = getattr(owner, "__name__", "") if isinstance(owner, type) else ""
    if name == "__get__":  # of an attribute, such as `x.T`
        return f"torch.Tensor.{getattr(owner, '__name__', '')}"
    qualified = str(getattr(func, "__qualname__", name)).rpartition(".")[0]
    module = _MODULES.get(kind) or _MODULES.get(qualified) or getattr(func, "__module__", None)
    return f"{module or 'aten'}.{name or func}"


@contextlib.contextmanager
def recorded(seen: set[str] | None) -> Iterator[None]:
    """
    While it holds, note the names of what runs.

    Args:
        seen: where to; None notes nothing.
    """
    if seen is None:
        yield
        return
    run = threading.Thread.run

    def running(thread: threading.Thread) -> None:
        with _looking(seen):
            run(thread)

    setattr(threading.Thread, "run", running)  # noqa: B010  a method is not assigned to, says mypy
    try:
        with _looking(seen):
            yield
    finally:
        setattr(threading.Thread, "run", run)  # noqa: B010


@contextlib.contextmanager
def _looking(seen: set[str]) -> Iterator[None]:
    modes = _Ran(seen), _Called(seen)
    for mode in modes:
        mode.__enter__()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for mode in reversed(modes):
            with contextlib.suppress(Exception):  # a program may have left a mode of its own on top
                mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
