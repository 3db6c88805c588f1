"""Markdown of authors becomes HTML that can do no harm."""

import re

import pytest

from app.services.exercises.headings import sections
from app.settings import ROOT
from app.web.http.markdown import highlight_code, render_inline, render_line, render_markdown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](javascript:alert(1))",
        '<a href="x" onclick="alert(1)">x</a>',
        r"$\text{<script>alert(1)</script>}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$\href{javascript:alert(1)}{x}$",
        r"$$\style{position:fixed}{x}$$",
        "```<script>\n</pre><script>alert(1)</script>\n```",
    ],
)
def test_nothing_in_a_lesson_can_act(text: str) -> None:
    """Neither HTML, links, code nor formulas bring scripts, handlers, styles or odd addresses in."""
    rendered = render_markdown(text).lower()
    for bad in ("<script", "<img src=x", 'href="javascript', "<a href=x", "style=", 'src="javascript'):
        assert bad not in rendered


def test_formula_becomes_mathml() -> None:
    """A formula can be read by eye and by screen reader, without a script."""
    rendered = render_markdown(r"The sum $h = t + p$ and $$x W^{\top}$$")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">' in rendered
    assert "<msup>" in rendered
    assert "formula-" not in rendered


def test_formula_that_cannot_be_read_is_shown_as_it_is() -> None:
    """One typing error does not take a lesson away."""
    assert r"<code>\frac{</code>" in render_markdown(r"$\frac{$")


def test_prices_are_no_formulas() -> None:
    """Two dollar signs in a sentence are money."""
    assert "<math" not in render_markdown("It costs $5 or $6.")


def test_headings_stay_below_the_title_of_the_page() -> None:
    """A page has one first-level heading, and it is not the author's."""
    assert render_markdown("# One\n\n###### Six", anchors=False).startswith("<h2>One</h2>\n<h4>Six</h4>")


def test_headings_can_be_linked_to() -> None:
    """Each has an id made of its words, and where the words come twice, the ids still differ."""
    rendered = render_markdown("## Where does *a* `character` stand?\n\n## Data\n\n### Data\n\n## Δύο πίνακες")
    assert re.findall(r'<h\d id="([^"]+)">', rendered) == [
        "where-does-a-character-stand",
        "section-data",
        "section-data-2",
        "δύο-πίνακες",
    ]


@pytest.mark.parametrize(
    "title", ["source", "main", "task-title", "", "!!!", '"><script>alert(1)</script>', "a" * 5000]
)
def test_headings_take_no_id_that_the_page_needs(title: str) -> None:
    """A heading named as a part of the page does not get in the way of what looks for that part."""
    ids = re.findall(r' id="([^"]*)"', render_markdown(f"## {title}\n\n## {title}"))
    assert len(set(ids)) == len(ids) == 2
    assert all(re.fullmatch(r"[\w-]{1,100}", one) and ("-" in one or one == "section") for one in ids)
    assert not {"source", "main", "task-title"} & set(ids)


def test_heading_and_passage_have_the_same_anchor() -> None:
    """What the search names is where the page has it, formulas and code in the text or not."""
    for path in sorted((ROOT / "exercises").rglob("lesson.md")):
        text = path.read_text(encoding="utf-8")
        assert [one.anchor for one in sections(text)] == re.findall(r'<h\d id="([^"]+)">', render_markdown(text))


def test_ids_of_headings_are_the_only_ones() -> None:
    """An author cannot name anything else on the page."""
    rendered = render_markdown('<p id="source">x</p>\n\n[x](#source)\n\n> ## quoted')
    assert re.findall(r"<[^>]* id=", rendered) == []


def test_code_is_coloured_and_reachable_by_keyboard() -> None:
    """A block that scrolls can be focused."""
    rendered = render_markdown("```python\nfor x in y:\n    pass\n```")
    assert '<pre class="code" tabindex="0">' in rendered
    assert '<span class="k">for</span>' in rendered


def test_unknown_language_is_shown_plain() -> None:
    """A language that nobody knows is no error."""
    assert "a &lt; b" in highlight_code("a < b", "no-such-language")


def test_shapes_and_places_in_a_sentence_are_code() -> None:
    """They are values, also where nobody put backticks round them; other brackets are not."""
    assert render_line("h[0, 2] is [32, 8]") == "<code>h[0, 2]</code> is <code>[32, 8]</code>"
    assert render_line("`h[0, 2]` [sic]") == "<code>h[0, 2]</code> [sic]"


def test_line_of_an_author_is_markdown_without_a_paragraph() -> None:
    """An option stands inside a label; nothing in it can act either."""
    assert render_inline("Rows `10` and **58**") == "Rows <code>10</code> and <strong>58</strong>"
    assert "<math" in render_inline("the sum $t + p$")
    assert "<script" not in render_inline("<script>alert(1)</script>")


def test_sentence_knows_code_and_nothing_else() -> None:
    """A sentence may quote hostile text: only its backticks mean anything."""
    assert render_line("`a<b` is **not** <b>") == "<code>a&lt;b</code> is **not** &lt;b&gt;"
