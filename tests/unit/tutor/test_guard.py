"""What gives a solution away is found in every disguise, and what does not is let through."""

import ast
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from app.authoring import LessonContent, load_course
from app.services.tutor.leak_guard.guard import ProtectedText, VisibleText, find_leak
from app.settings import ROOT
from tests.unit.disguises import DISGUISES

NOTHING = VisibleText.texts()
MAIN = "token-and-position-embeddings"
# Statements of right ways that tell nothing about the exercise. Whatever else one holds is the solution's.
SAY_NOTHING = {
    "super().__init__()",
    "model = Embed()",
    "table = Table()",
    "self.n = n",
    "return out",
    "loss.backward()",
    "learned = []",
    "optimiser.zero_grad()",
    "optimiser.step()",
}
SILENT_KINDS = (ast.Import, ast.Assert)
COMPOUND = (ast.FunctionDef, ast.ClassDef, ast.For, ast.If, ast.With)


@cache
def exercises() -> dict[str, tuple[dict[str, Any], LessonContent]]:
    """Return the stored content of every exercise there is, with its lesson."""
    courses = [load_course(path.parent) for path in sorted((ROOT / "exercises").glob("*/course.yaml"))]
    return {
        exercise.id: (exercise.content(), lesson)
        for course in courses
        for lesson in course.lessons
        for exercise in lesson.exercises
    }


@cache
def reference(exercise: str) -> ProtectedText:
    """Return what gives an exercise away."""
    return ProtectedText.of(exercises()[exercise][0])


def right_ways(content: dict[str, Any]) -> list[str]:
    """Return the solution and its equivalents."""
    return [content.get("solution", ""), *(one["code"] for one in content.get("equivalents", []))]


def statements(code: str) -> Iterator[str]:
    """Yield each statement that says something, as it stands in the code."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not isinstance(node, COMPOUND + SILENT_KINDS):
            text = ast.get_source_segment(code, node) or ""
            if text not in SAY_NOTHING and not text.startswith("print("):
                yield text


def code_exercises() -> list[str]:
    """Return the ids of those that are solved by writing code."""
    return [name for name, (content, _) in exercises().items() if "solution" in content]


def lines(exercise: str) -> list[str]:
    """Return the statements of every right way, each once."""
    return sorted({line for code in right_ways(exercises()[exercise][0]) for line in statements(code)})


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("exercise", code_exercises())
def test_line_of_a_right_way_is_found_in_any_disguise(exercise: str, disguise: str) -> None:
    """Each statement of the solution and of every equivalent, by itself."""
    missed = [
        line for line in lines(exercise) if not find_leak(DISGUISES[disguise](line), reference(exercise), NOTHING)
    ]
    if disguise in {"with other names", "its value alone"}:
        missed = [line for line in missed if not is_only_a_name(line)]
    assert missed == []


def is_only_a_name(line: str) -> bool:
    """Say whether all that a statement does is to give something that has a name another one."""
    statement = ast.parse(line).body[0]
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Attribute | ast.Constant | ast.Tuple)


@pytest.mark.parametrize("exercise", code_exercises())
def test_whole_solution_is_found_in_any_disguise(exercise: str) -> None:
    """All lines at once."""
    for code in right_ways(exercises()[exercise][0]):
        assert [
            name for name, make in DISGUISES.items() if not find_leak(whole(name, code), reference(exercise), NOTHING)
        ] == []


def whole(disguise: str, code: str) -> str:
    """Disguise several statements, each by itself where the disguise is one for a line."""
    if disguise in {"with other names", "its value alone"}:
        return "\n".join(DISGUISES[disguise](line) for line in statements(code))
    return DISGUISES[disguise](code)


@pytest.mark.parametrize("exercise", exercises())
def test_what_everyone_may_read_is_let_through(exercise: str) -> None:
    """The page, section by section, and every message and fact: the tutor may quote all of them."""
    content, lesson = exercises()[exercise]
    page = VisibleText.texts(
        lesson.markdown, content["statement"], content.get("setup", ""), content.get("starter", "")
    )
    quoted = [
        lesson.markdown,
        *lesson.markdown.split("\n\n"),
        content["statement"],
        content.get("setup", ""),
        content.get("starter", ""),
        *content.get("tutor", []),
        *content.get("hints", [])[:-1],
        *(one["message"] for one in content.get("wrong", [])),
        *(one.get("message", "") for one in content.get("checks", [])),
        *(one["title"] for one in content.get("checks", [])),
    ]
    assert [text for text in quoted if find_leak(text, reference(exercise), page)] == []


LAST_HINTS = {
    "embedding-equals-linear": "linear.weight = nn.Parameter(embedding.weight.T)",
    "embedding-from-scratch": "self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))",
}


@pytest.mark.parametrize("exercise", exercises())
def test_last_hint_is_withheld_just_where_it_is_nearly_the_answer(exercise: str) -> None:
    """Two of them hold a whole line; once they are opened, the tutor may say it too."""
    content, lesson = exercises()[exercise]
    hint = content["hints"][-1]
    page = [lesson.markdown, content["statement"]]
    assert find_leak(hint, reference(exercise), VisibleText.texts(*page)) == LAST_HINTS.get(exercise)
    assert find_leak(hint, reference(exercise), VisibleText.texts(*page, hint)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Which ids belong into `token_emb`, and which into `pos_emb`?",
        "`nn.Embedding` makes a table, and `torch.arange` counts.",
        "`tok` has the shape `[32, 8, 32]`, and `pos` `[8, 32]`; the sum has `[batch_size, block_size, n_embd]`.",
        "A small example: `table = nn.Embedding(5, 3)` and `table(torch.tensor([4, 1, 4]))`.",
        "For instance `colours = nn.Embedding(10, 4)`, then `colours(ids)`.",
        "Look at `token_emb.weight` and at `x.shape`.",
        "```python\nimport torch.nn as nn\nprint(tok.shape)\nassert h is not None\nn = 3\n```",
        "Do you add `tok` and `pos`, or `tok` and itself? What is tok? And pos + 1?",
        "The error says: index out of range in self. Which rows does a table of 8 rows have?",
        "In `torch.arange(n)` the counting begins at 0: 0, 1, …, n − 1.",
        "Call a table like a function on a tensor of ids; x holds some (32 windows), doesn't it?",
        "Ünïcödé, emoji 🙂, and mathematics: $h_{b,t} = a_{b,t} + p_t$. **Bold** *stars* too.",
        "",
    ],
)
def test_what_a_good_tutor_says_is_let_through(text: str) -> None:
    """Names, shapes, small examples on other sizes, questions."""
    assert find_leak(text, reference(MAIN), NOTHING) is None


@pytest.mark.parametrize(
    "text",
    [
        "nn.Embedding(embedding_dim=n_embd, num_embeddings=vocab_size)",
        "torch.nn.Embedding(vocab_size, n_embd)",
        "from torch.nn import Embedding\nEmbedding(vocab_size, n_embd,)",
        "nn.Embedding(\n    vocab_size,  # rows\n    n_embd,\n)",
        "nn.Embedding(8, 32)",
        "tok = characters(x)",
        "tok = (token_emb)((x))",
        "tok = token_emb.forward(x)",
        "tok := token_emb(x)",
        "places = second(torch.arange(0, block_size))",
        "h = a + b",
        "h = pos + tok",
        "h = torch.add(tok, pos)",
        "h = tok.add(pos)",
        "h = sum([tok, pos])",
        "h = sum((tok, pos))",
        "Begin with `h = tok`, then `h += pos`.",
        "nn.Embedding(vocab_size, n_embd, device='cpu')",
        "nn.Embedding(len(chars), n_embd)",
        "nn.Embedding(len(chars), 32)",
        r"Keep token\_emb(x) in tok.",
        r"$h = \text{tok} + \mathrm{pos}$",
        "tok = token<!-- -->_emb(x)",
        "pos = pos_emb.weight",
        "Set *tok* to *token_emb*(*x*).",
        "lookup = table.weight[x]",
        "exec('tok = token_emb(x)')",
        "Compare it with this.\ntok=token_emb(x).\nIs it the same?",
        "First `token_emb`\n(x), that is all.",
    ],
)
def test_other_ways_to_write_a_line_are_found(text: str) -> None:
    """Arguments by name, in any order, other names, methods for functions, sums the other way round."""
    assert find_leak(text, reference(MAIN), NOTHING)


def test_what_the_student_wrote_may_be_quoted() -> None:
    """Their own right line is theirs, and the next one is not given away by it."""
    own = VisibleText.texts("token_emb = nn.Embedding(vocab_size, n_embd)\ntok=token_emb( x )  # mine\n")
    assert find_leak("You wrote `tok = token_emb(x)`: which shape has it?", reference(MAIN), own) is None
    assert find_leak("You wrote `tok = token_emb(x)`, so add `h = tok + pos`.", reference(MAIN), own) == "h = tok + pos"


def test_statement_that_was_given_away_is_named() -> None:
    """The log and the tests say which one it was."""
    assert find_leak("So: tok=token_emb(x)", reference(MAIN), NOTHING) == "tok = token_emb(x)"


@pytest.mark.parametrize(
    ("exercise", "text"),
    [
        ("shapes-with-new-sizes", "It is `[16, 12, 24]`."),
        ("shapes-with-new-sizes", "It is 16 × 12 × 24."),
        ("learnable-numbers", "There are 123,264 numbers."),
        ("learnable-numbers", "There are 123264."),
        ("memory-of-a-table", "It is about 154.4 MB."),
        ("memory-of-a-table", "It is 154,389,504 bytes, so 154.39 MB."),
    ],
)
def test_answer_to_a_question_is_found(exercise: str, text: str) -> None:
    """Numbers in any grouping, and shapes."""
    assert find_leak(text, reference(exercise), NOTHING)


def test_text_of_any_kind_can_be_looked_at() -> None:
    """Half a bracket, signs without letters, or nothing but marks are read without a fault."""
    for text in (
        "((((",
        "))))",
        "= = =",
        "\u200b\u0301",
        "\\x",
        "\\U7fffffff",
        "%%%",
        "{[(",
        ", , ,",
        "nn.",
        ".",
        "QUJD" * 9,
    ):
        assert find_leak(text, reference(MAIN), NOTHING) is None


@pytest.mark.parametrize(
    "text", ["f(" * 5_000 + ")" * 5_000, "(" * 16_000, "(a)" * 5_000, "f(" + "a," * 7_000 + ")", "a " * 8_000]
)
def test_time_does_not_run_away_with_the_brackets(text: str) -> None:
    """An answer made to be hard to read takes no longer than a long one."""
    began_s = time.process_time()
    assert find_leak(text, reference(MAIN), NOTHING) is None
    assert time.process_time() - began_s < 5.0
