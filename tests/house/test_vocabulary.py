"""A verdict is told in the same words on pages, in the API, on the command line and by the judge."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.settings import ROOT
from graders.report import CheckStatus, Verdict
from graders.reporting import vocabulary

VOCABULARY = Path(vocabulary.__file__)
SHORTEST_WORDS = 3  # a word or two, such as Passed, may be written as a part of other texts
SHORTEST_IN_PAGES = 4  # which are searched whole
ENUMS = {"Verdict", "CheckStatus"}


def python_files() -> list[Path]:
    """Return every Python file of the product but the vocabulary itself."""
    files = [path for folder in ("app", "graders") for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in files if path != VOCABULARY]


def page_files() -> list[Path]:
    """Return every template, script and text from which pages and e-mails are made."""
    folders = (ROOT / "templates", ROOT / "frontend" / "src", ROOT / "static" / "js")
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]


def folded(text: str) -> str:
    """Return a text with the apostrophes, blanks and letters by which one could hide a copy made alike."""
    return " ".join(text.replace("’", "'").lower().split())


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text below a node that is no docstring, with its line; of one with values in it, the fixed parts."""
    docstrings = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Expr)}
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in docstrings:
            yield one.lineno, one.value


def sentences(path: Path) -> list[str]:
    """Return the sentences of a file, made alike: all its texts that are longer than a word or two."""
    found = [folded(text) for _, text in texts(ast.parse(path.read_text(encoding="utf-8")))]
    return [one for one in found if len(one.split()) >= SHORTEST_WORDS]


def of_an_enum(node: ast.expr | None) -> bool:
    """Say whether an expression is a verdict or the state of a check, such as `Verdict.PASSED`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ENUMS


def tables_of_words(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each table in which verdicts or states have sentences or words for people."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Dict) and any(map(of_an_enum, one.keys)):
            words = [text for value in one.values for _, text in texts(value)]
            if any(re.match(r"[A-Z“\[]", text) for text in words):
                yield one.lineno


def own_words(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each call that says in a text of its own why a check is not judged, or notes a verdict."""
    for one in ast.walk(tree):
        if not isinstance(one, ast.Call):
            continue
        name = one.func.id if isinstance(one.func, ast.Name) else ""
        said = one.args[:1] if name == "not_run" else [word.value for word in one.keywords if word.arg == "note"]
        if any((isinstance(text, ast.Constant) and text.value) or isinstance(text, ast.JoinedStr) for text in said):
            yield one.lineno


def test_no_sentence_of_the_vocabulary_is_written_twice() -> None:
    """Neither in it, nor in code, a template or a script."""
    known = sentences(VOCABULARY)
    assert sorted({one for one in known if known.count(one) > 1} - {folded("Not yet right")}) == []
    of_code = {text: str(path) for path in python_files() for text in sentences(path)}
    assert {one: of_code[one] for one in known if one in of_code} == {}
    long = [one for one in known if len(one.split()) >= SHORTEST_IN_PAGES]
    pages = {str(path): folded(path.read_text(encoding="utf-8")) for path in page_files()}
    assert {path: one for path, page in pages.items() for one in long if one in page} == {}


@pytest.mark.parametrize("find", [tables_of_words, own_words])
def test_verdicts_and_states_have_words_in_the_vocabulary_only(find: Callable[[ast.AST], Iterator[int]]) -> None:
    """A table beside it, or a reason written where it arises, would be a second vocabulary."""
    found = {str(path): list(find(ast.parse(path.read_text(encoding="utf-8")))) for path in python_files()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_second_vocabulary_would_be_found() -> None:
    """The rules of this file see what they are there for."""
    assert list(tables_of_words(ast.parse('W = {Verdict.PASSED: "All is well"}'))) == [1]
    assert list(tables_of_words(ast.parse('W = {CheckStatus.FAILED: Look("Wrong", "x")}'))) == [1]
    assert list(tables_of_words(ast.parse('W = {Verdict.PASSED: "green"}'))) == []
    assert list(own_words(ast.parse('not_run(f"There is no {name}")\nReport(note="It was us.")'))) == [1, 2]
    assert list(own_words(ast.parse("not_run(vocabulary.NOT_PARSED)"))) == []


def test_every_verdict_and_state_has_its_word() -> None:
    """None is shown by the name that programs give it."""
    assert set(vocabulary.VERDICT_WORDS) == set(Verdict) == set(vocabulary.SUMMARIES)
    assert set(vocabulary.CHECK_WORDS) == set(CheckStatus)
