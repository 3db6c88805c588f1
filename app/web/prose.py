"""
Markdown of lessons and tasks, made into HTML that is safe to put into a page.

The order matters: Markdown is rendered, the result is sanitised, and only then do formulas take the
place of their markers. MathML can't go through the sanitiser (it would have to allow the very elements
that parsers treat in special ways), so it is built here from an allow-list, element by element.
"""

import html
import re
import secrets
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from xml.etree.ElementTree import Element

import nh3
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from app.services.sections import anchors as anchors_of
from app.services.sections import plain

_TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h2", "h3", "h4", "hr", "img", "li", "ol", "p",
    "pre", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "div": {"class", "tabindex"},
    "h2": {"id"},
    "h3": {"id"},
    "h4": {"id"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "pre": {"class", "tabindex"},
    "span": {"class"},
}
_MATH_TAGS = {
    "math", "mfenced", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace",
    "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
_MATH_ATTRIBUTES = {
    "accent", "columnalign", "columnspacing", "depth", "display", "displaystyle", "fence", "form", "height",
    "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "rowspacing", "rspace", "scriptlevel",
    "separator", "stretchy", "symmetric", "voffset", "width", "xmlns",
}  # fmt: skip


_CODE = re.compile(r"`([^`\n]+)`|(\w*\[\d+(?:, \d+)*\])")
"""What stands between backticks, and bare shapes and places such as [32, 8] and pos[0, 3]."""


# The same texts are shown again and again, and only so many of them exist.
@lru_cache(maxsize=512)
def render_markdown(text: str, *, anchors: bool = True) -> str:
    """
    Safe HTML of an author's Markdown, with highlighted code and `$…$` and `$$…$$` formulas as MathML.

    Headings start at the second level, because the page's own title is the first. A formula that can't
    be read is shown as its source: a lesson with one typing error is still a lesson.

    Args:
        text: Markdown.
        anchors: give each heading an `id`, by which links find it. Not where several texts share a page, as
            the messages of a conversation do: an `id` may be there only once.
    """
    parser = _parser()
    if anchors:
        parser.core.ruler.push("anchors", _give_anchors)
    return _rendered(text, parser.render)


def render_reply(text: str) -> Markup:
    """
    Safe HTML of what a tutor says, which nobody has read before.

    As for lessons, but without pictures, which would be fetched from wherever the reply says, and not kept.
    """
    return Markup(_rendered(text, _parser().render, tags=_TAGS - {"img"}))  # noqa: S704  sanitised there


@lru_cache(maxsize=512)
def render_inline(text: str) -> str:
    """Safe HTML of one line of an author's Markdown, to stand inside something: no paragraph round it."""
    return _rendered(text, _parser().renderInline)


def _rendered(text: str, render: Callable[[str, EnvType], str], *, tags: AbstractSet[str] = frozenset(_TAGS)) -> str:
    formulas: dict[str, str] = {}
    nonce = secrets.token_hex(8)  # an author can't write a marker that he can't guess
    rendered = render(text, {"formulas": formulas, "nonce": nonce})
    clean = nh3.clean(rendered, tags=set(tags), attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"})
    return re.sub(rf"formula-{nonce}-\d+", lambda marker: formulas[marker[0]], clean)


def render_line(text: str) -> Markup:
    """
    Safe HTML of a sentence about a submission: its `code`, shapes and places are set as code.

    Nothing else is special: such a sentence may quote what a student's program said, so it is no Markdown.
    """
    marked = _CODE.sub(lambda found: f"<code>{found[1] or found[2]}</code>", html.escape(text))
    return Markup(marked)  # noqa: S704  escaped just now


@lru_cache(maxsize=128)
def highlight_code(source: str, language: str = "python") -> str:
    """
    The inside of a <pre>: `source` as spans with the classes of static/css/code.css.

    A language that Pygments does not know is shown plain.
    """
    return str(highlight(source, _lexer(language), HtmlFormatter(nowrap=True))).rstrip("\n")


def _lexer(language: str) -> Lexer:
    if language in {"python", "py"}:
        return PythonLexer(stripnl=False)
    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


class _Renderer(RendererHTML):
    """Renders what differs from plain Markdown: code, formulas, headings, and tables that may be wide."""

    def fence(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, _env: EnvType) -> str:
        language = tokens[idx].info.strip().split(" ")[0]
        # A wide block scrolls, so it has to be reachable by keyboard.
        code = highlight_code(tokens[idx].content, language or "text")
        return f'<pre class="code" tabindex="0">{code}</pre>\n'

    def heading_open(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, _env: EnvType) -> str:
        anchor = tokens[idx].attrGet("id")
        named = f' id="{html.escape(str(anchor))}"' if anchor else ""
        return f"<{_lower_heading(tokens[idx].tag)}{named}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"</{_lower_heading(tokens[idx].tag)}>\n"

    def table_open(self, _tokens: Sequence[Token], _idx: int, _options: OptionsDict, _env: EnvType) -> str:
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, _tokens: Sequence[Token], _idx: int, _options: OptionsDict, _env: EnvType) -> str:
        return "</table></div>\n"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "typographer": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, double_inline=True, allow_digits=False)
    rules = {
        "math_inline": _formula_inline,
        "math_inline_double": _formula_block,
        "math_block": _formula_block,
    }
    for name, rule in rules.items():  # after the plugin, which brings rules of its own
        parser.add_render_rule(name, rule)
    return parser


def _give_anchors(state: StateCore) -> None:
    places = [place for place, token in enumerate(state.tokens) if token.type == "heading_open" and token.level == 0]
    for place, anchor in zip(places, anchors_of(plain(state.tokens[place + 1]) for place in places), strict=True):
        state.tokens[place].attrSet("id", anchor)


def _formula_inline(
    _renderer: RendererHTML, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType
) -> str:
    return _keep(tokens[idx].content, env, display="inline")


def _formula_block(
    _renderer: RendererHTML, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType
) -> str:
    return f'<div class="formula" tabindex="0">{_keep(tokens[idx].content, env, display="block")}</div>\n'


def _lower_heading(tag: str) -> str:
    return f"h{min(max(int(tag[1]), 2), 4)}"


def _keep(latex: str, env: EnvType, *, display: str) -> str:
    marker = f"formula-{env['nonce']}-{len(env['formulas'])}"
    env["formulas"][marker] = _mathml(latex.strip(), display=display)
    return marker


def _mathml(latex: str, *, display: str) -> str:
    try:
        return _safe_xml(convert_to_element(latex, display=display))
    except Exception:  # noqa: BLE001 - the converter raises whatever it stumbles over
        return f"<code>{html.escape(latex)}</code>"


def _safe_xml(element: Element) -> str:
    r"""
    One MathML element as text, with only known names in it.

    latex2mathml's own text form un-escapes what it wrote, so `\text{<script>}` would come out alive.
    """
    inside = _safe_text(element.text) + "".join(_safe_xml(child) + _safe_text(child.tail) for child in element)
    if element.tag not in _MATH_TAGS:
        return inside
    attributes = "".join(
        f' {name}="{html.escape(value)}"' for name, value in element.attrib.items() if name in _MATH_ATTRIBUTES
    )
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>"


def _safe_text(text: str | None) -> str:
    return html.escape(html.unescape(text or ""))
