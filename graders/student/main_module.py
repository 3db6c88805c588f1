"""
The student's code is `__main__`: a real module, found where Python's own tools look for it.

pickle and `torch.save` find classes by the name of their module, dataclasses and `get_type_hints` the names in
annotations, doctest and unittest what there is to try, `inspect` and `torch.jit` the source by `__file__`. So the names
that code runs in are those of a module that stands in `sys.modules`, until the next one takes its place.
"""

import builtins
import sys
import types

FILE = "main.py"  # stands in tracebacks that a student prints; the lines are in `linecache` under this name


def fresh(names: dict[str, object] | None = None) -> dict[str, object]:
    """The names of a new `__main__`: with `names` in it, or empty but for what every module has."""
    module = types.ModuleType("__main__")
    made = vars(module)
    made.update({"__file__": FILE, "__builtins__": builtins} if names is None else names)
    sys.modules["__main__"] = module
    return made
