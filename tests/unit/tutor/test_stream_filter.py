"""An answer is let through as it comes, and nothing of a line that gives the solution away ever is."""

from collections.abc import AsyncGenerator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.authoring import load_code_exercise
from app.clients.tutor import EngineFailed, Passage, Piece, Usage
from app.services.tutor.leak_guard.guard import ProtectedText, VisibleText
from app.services.tutor.leak_guard.stream_filter import MOST_CHARACTERS, LeakFilter, guarded
from tests.conftest import MAIN_EXERCISE, run_apart
from tests.unit.disguises import DISGUISES

REFERENCE = ProtectedText.of(load_code_exercise(MAIN_EXERCISE).content())
REPLACEMENT = "Let us go one step back: what is a row?"
CLEAN = """A table has rows.

Which of them belong to `x`?

```python
table = nn.Embedding(5, 3)
```

Think (a while)."""
LEAK = "tok = token_emb(x)"
SECTION = Passage("A table of rows", "…", "/exercises/x#table")


class Engine:
    """An engine that says what it is told to, and remembers how far it came."""

    def __init__(self, *pieces: str | Piece) -> None:
        """It has said nothing yet."""
        self.pieces = [Piece(one) if isinstance(one, str) else one for one in pieces]
        self.said = 0
        self.is_closed = False

    async def answer(self) -> AsyncGenerator[Piece]:
        """Say it."""
        try:
            for piece in self.pieces:
                self.said += 1
                yield piece
        finally:
            self.is_closed = True


def watch(most_characters: int = MOST_CHARACTERS) -> LeakFilter:
    """Return what an answer is measured by."""
    return LeakFilter(REFERENCE, VisibleText.texts(), REPLACEMENT, most_characters)


def let_through(engine: Engine, by: LeakFilter) -> list[Piece]:
    """Return the pieces that reach the student."""

    async def story() -> list[Piece]:
        return [piece async for piece in guarded(engine.answer(), by)]

    return run_apart(story())


def text_of(pieces: list[Piece]) -> str:
    """Return an answer as a whole."""
    return "".join(piece.text for piece in pieces)


def cut(text: str, size: int) -> list[str]:
    """Cut a text into pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_clean_answer_arrives_unchanged(size: int) -> None:
    """To the letter, however it is cut."""
    by = watch()
    assert text_of(let_through(Engine(*cut(CLEAN, size)), by)) == CLEAN
    assert not by.is_replaced


def test_clean_lines_arrive_before_the_answer_is_complete() -> None:
    """A student reads along."""
    engine = Engine("A table has rows.\n", "Which of them?\n", "The end.")

    async def story() -> list[tuple[str, int]]:
        return [(piece.text, engine.said) async for piece in guarded(engine.answer(), watch())]

    assert run_apart(story()) == [("A table has rows.\n", 1), ("Which of them?\n", 2), ("The end.", 3)]


def test_code_block_waits_until_it_is_complete() -> None:
    """And so does code in back-ticks that goes over two lines."""
    engine = Engine("Look:\n", "```\n", "a = 1\n", "```\n", "Say `a\n", "b` now\n", "end")
    arrived = [piece.text for piece in let_through(engine, watch())]
    assert arrived == ["Look:\n", "```\na = 1\n```\n", "Say `a\nb` now\n", "end"]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_nothing_of_a_leaking_line_arrives(disguise: str, size: int) -> None:
    """The clean beginning stays, the replacement stands behind it, and the engine is closed."""
    hidden = DISGUISES[disguise](LEAK)
    engine, by = Engine(*cut(f"A table has rows.\n\n{hidden}\n\nIs that clear?", size), "and on"), watch()
    told = text_of(let_through(engine, by))
    assert told in {f"A table has rows.\n\n{before}\n\n{REPLACEMENT}" for before in clean_beginnings(hidden)}
    assert by.is_replaced
    assert engine.is_closed


def clean_beginnings(hidden: str) -> list[str]:
    """Return what may be seen of a disguised line: the lines before any of its own."""
    lines = hidden.splitlines(keepends=True)
    own = next(
        place
        for place, line in enumerate(lines)
        if not line.startswith(("Look", "Try this", "|", "\n")) or LEAK in line
    )
    return ["".join(lines[:count]) for count in range(own + 1)]


@pytest.mark.parametrize(
    "text",
    [
        "tok =\n\n\ntoken_emb(x)\n",
        "Keep it in tok\n= token_emb\n(x)\n",
        "tok = token_emb(\n\n\n\n    x\n\n)\n",
        "nn.Embedding(embedding_dim=n_embd,\nnum_embeddings=vocab_size)\n",
        "tok = token_emb(  # the rows\n# of x\nx)\n",
        "- token_emb\n- (x)\n",
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_line_that_becomes_a_leak_only_later_has_waited(text: str, size: int) -> None:
    """What may still become a line of the solution is not let through."""
    by = watch()
    assert text_of(let_through(Engine(*cut(text, size)), by)) == REPLACEMENT
    assert by.is_replaced


def test_leak_stops_the_engine_at_once() -> None:
    """What it would have said after that costs nothing."""
    engine = Engine(f"{LEAK}\n", "one\n", "two\n")
    let_through(engine, watch())
    assert (engine.said, engine.is_closed) == (1, True)


def test_leak_without_a_line_end_is_found_at_the_end() -> None:
    """The last line needs none."""
    by = watch()
    assert text_of(let_through(Engine("Well.\n", LEAK), by)) == f"Well.\n\n\n{REPLACEMENT}"
    assert by.leak == LEAK


def test_sources_and_usage_arrive_once() -> None:
    """What a piece says besides its text is not lost when the text waits."""
    engine = Engine(Piece("A ", sources=(SECTION,)), Piece("table\n", sources=(SECTION,)), Piece("", usage=Usage(42)))
    pieces = let_through(engine, watch())
    assert [one for piece in pieces for one in piece.sources] == [SECTION]
    assert [piece.usage for piece in pieces if piece.usage] == [Usage(42)]


def test_answer_without_end_is_a_failure() -> None:
    """Whatever the engine, an answer is cut at a length that no good one has."""
    engine = Engine(*["on and on\n"] * 100)
    with pytest.raises(EngineFailed, match="endless"):
        let_through(engine, watch(most_characters=200))
    assert engine.is_closed


def test_failure_of_the_engine_goes_through() -> None:
    """An answer that breaks off is none, and what was held of it stays held."""

    async def breaks() -> AsyncGenerator[Piece]:
        yield Piece("one\ntwo")
        raise EngineFailed("cut-off")

    async def story() -> None:
        pieces = guarded(breaks(), watch())
        assert (await anext(pieces)).text == "one\n"
        with pytest.raises(EngineFailed, match="cut-off"):
            await anext(pieces)

    run_apart(story())


def test_student_who_goes_away_closes_the_engine() -> None:
    """Closing what is guarded closes the engine's own generator."""
    engine = Engine("one\n", "two\n")

    async def story() -> None:
        pieces = guarded(engine.answer(), watch())
        await anext(pieces)
        await pieces.aclose()

    run_apart(story())
    assert engine.is_closed


@settings(deadline=None)  # how long it takes says how busy the machine is
@given(
    st.lists(
        st.sampled_from(["tok", " = ", "token_emb", "(", "x", ")", "\n", "`", "```\n", "# a\n", "word ", ". "]),
        max_size=40,
    )
)
def test_what_arrives_never_gives_anything_away(parts: list[str]) -> None:
    """Whatever the pieces, either all of it arrives, or a clean beginning with the replacement."""
    by, whole = watch(), "".join(parts)
    told = text_of(let_through(Engine(*parts), by))
    assert (told == whole) != by.is_replaced
    if by.is_replaced:
        beginning = told.removesuffix(REPLACEMENT).removesuffix("\n\n")
        assert whole.startswith(beginning)
        assert "token_emb(x)" not in beginning
