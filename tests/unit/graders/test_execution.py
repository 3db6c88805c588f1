"""A student's exception is described by type, line and the name that was being made."""

import ast

import pytest

from graders.student.execution import Program, assigned, targets_at


def fault(source: str) -> dict[str, object]:
    """Run and return the fault."""
    found = Program(source).run({})
    assert found is not None
    return found


def test_the_line_is_the_students_even_if_torch_raised_it() -> None:
    """A fault deep in a library is told by the student's own line."""
    found = fault("import json\n\ndata = json.loads('{')\n")
    assert (found["type"], found["line"], found["targets"]) == ("JSONDecodeError", 3, ["data"])


def test_a_fault_in_a_function_names_what_the_call_was_to_make() -> None:
    """The line is inside the function, the target that of the statement which called it."""
    found = fault("def f():\n    return 1 / 0\n\ny = f()\n")
    assert (found["line"], found["targets"]) == (2, ["y"])


@pytest.mark.parametrize(
    ("source", "column", "targets"),
    [("a, b = f(), g()", 12, ["b"]), ("a, b = f(), g()", 7, ["a"]), ("a, b = f()", 7, ["a", "b"]), ("f()", 0, [])],
)
def test_of_a_pair_only_the_failing_half_is_blamed(source: str, column: int, targets: list[str]) -> None:
    """`a, b = f(), g()` blames `b` when `g()` fails."""
    assert targets_at(ast.parse(source), 1, column) == targets


def test_exit_is_the_end_of_a_program_and_no_fault() -> None:
    """`exit()` and `raise SystemExit` end the code, with whatever it has made by then."""
    names: dict[str, object] = {}
    assert Program("done = True\nraise SystemExit(3)\n").run(names) is None
    assert names["done"]


def test_text_that_does_not_parse_keeps_its_line() -> None:
    """A syntax error is a fault with a line, and nothing has run."""
    found = fault("x = 1\ny = (2\n")
    assert (found["type"], found["line"], found["parsed"]) == ("SyntaxError", 2, False)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = b = 1", {"a", "b"}),
        ("a, (b, *c) = f()", {"a", "b", "c"}),
        ("for i in x:\n    y = i", {"i", "y"}),
        ("def f(x):\n    y = x", {"f"}),
        ("class C:\n    table = 1", {"C"}),
        ("a = [i for i in x]", {"a"}),
        ("a = lambda x: (y := x)", {"a"}),
        ("a.b = c[0] = 1", set()),
    ],
)
def test_only_names_of_the_module_are_assigned(source: str, names: set[str]) -> None:
    """What a function, class or comprehension keeps to itself is not made by the statement."""
    assert assigned(ast.parse(source).body[0]) == names
