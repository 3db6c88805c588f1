"""What an exception means is said for the commonest ones, and nothing is said that it does not show."""

import pytest

from graders.judge.feedback.explanations import explain
from graders.judge.values.decode_observation import Fault

TOLD = [
    ("TypeError", "A.forward() takes 1 positional argument but 2 were given", "begin with `self`"),
    ("TypeError", "A.__init__() takes 1 positional argument but 3 were given", "two underscores"),
    ("TypeError", "look() takes from 1 to 2 positional arguments but 3 were given", "has room for 2 and was given 3"),
    ("TypeError", "A.__init__() missing 1 required positional argument: 'width'", "without `width`"),
    ("TypeError", 'softmax() missing 1 required positional arguments: "dim"', "without `dim`"),
    ("TypeError", "unsupported operand type(s) for ^: 'float' and 'int'", "`**`"),
    ("TypeError", "unsupported operand type(s) for *: 'builtin_function_or_method' and 'int'", "brackets"),
    (
        "TypeError",
        "unsupported operand type(s) for +: 'Embedding' and 'list'",
        "is an Embedding, a layer, and the right side is a list",
    ),
    (
        "AttributeError",
        "'int' object has no attribute 'Embedding'",
        "is an int on line 1, which has nothing called `Embedding`",
    ),
    ("RuntimeError", "Trying to backward through the graph a second time (or directly", "thrown away after once"),
    ("RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation.", "no_grad"),
    ("RuntimeError", "expected m1 and m2 to have the same dtype, but got: double != float", "float64 and float32"),
    ("RuntimeError", "grad can be implicitly created only for scalar outputs", "How do many numbers become one"),
    (
        "RuntimeError",
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "no gradient can go back",
    ),
]


@pytest.mark.parametrize(("kind", "message", "words"), TOLD)
def test_common_exception_is_told_by_what_it_means(kind: str, message: str, words: str) -> None:
    """A student is not sent back to read the raw text of a fault that everybody makes once."""
    fault = Fault(kind, builtin=True, message=message, memory=False, line=1, parsed=True, code="", targets=())
    assert words in explain(fault)


def test_call_that_no_line_of_the_students_made_is_given_no_line() -> None:
    """What the exercise calls with arguments that do not fit did not stop on a line 0."""
    message = "f() got multiple values for argument 'a'"
    fault = Fault("TypeError", builtin=True, message=message, memory=False, line=None, parsed=True, code="", targets=())
    assert explain(fault).startswith("`f` gets `a` twice in the call:")
