"""
Markdown of lessons and tasks, made into HTML that is safe to put into a page.

The order matters: Markdown is rendered, the result is sanitised, and only then do formulas take the
place of their markers. MathML can't go through the sanitiser (it would have to allow the very elements
that parsers treat in special ways), so it is built here from an allow-list, element by element.

What all of it may cost is bounded, and kept: `app.web.limits.render_budget` says how. Code is coloured in a few
languages only: the time that a lexer takes is its own affair, and there are hundreds.
"""

import html
import re
import secrets
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from io import StringIO
from xml.etree.ElementTree import Element

import nh3
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer

from app.services.exercises.headings import anchors as anchors_of
from app.services.exercises.headings import plain
from app.web.limits.render_budget import RenderBudget, RenderTooSlow, rendered

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


_CODE = re.compile(r"`([^`\n]+)`|((?<!\w)\w*\[\d+(?:, \d+)*\])")
"""What stands between backticks, and bare shapes and places such as [32, 8] and pos[0, 3]."""

_LEXERS: dict[str, type[Lexer]] = {
    "python": PythonLexer,
    "py": PythonLexer,
    "bash": BashLexer,
    "sh": BashLexer,
    "yaml": YamlLexer,
    "yml": YamlLexer,
    "json": JsonLexer,
}
"""Any other language is shown plain."""
_BLOCKS = ["paragraph", "reference", "blockquote", "list", "table"]
_LONGEST_FORMULA = 1_000  # characters


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
    return rendered(text, f"markdown {anchors}", render=_by(parser.render), plain=_as_written)


def render_reply(text: str, *, keep: bool = True) -> Markup:
    """
    Safe HTML of what a tutor says, which nobody has read before.

    As for lessons, but without pictures, which would be fetched from wherever the reply says.

    Args:
        text: Markdown.
        keep: not for one that is still being written.
    """
    render = _by(_parser().render, tags=_TAGS - {"img"})
    return Markup(rendered(text, "reply", render=render, plain=_as_written, keep=keep))  # noqa: S704  sanitised there


def render_inline(text: str) -> str:
    """Safe HTML of one line of an author's Markdown, to stand inside something: no paragraph round it."""
    return rendered(text, "inline", render=_by(_parser().renderInline), plain=html.escape)


def _by(
    render: Callable[[str, EnvType], str], *, tags: AbstractSet[str] = frozenset(_TAGS)
) -> Callable[[str, RenderBudget], str]:
    def within(text: str, budget: RenderBudget) -> str:
        formulas: dict[str, str] = {}
        nonce = secrets.token_hex(8)  # an author can't write a marker that he can't guess
        made = render(text, {"formulas": formulas, "nonce": nonce, "budget": budget})
        clean = nh3.clean(made, tags=set(tags), attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"})
        return re.sub(rf"formula-{nonce}-\d+", lambda marker: formulas[marker[0]], clean)

    return within


def _as_written(text: str) -> str:
    return f'<pre class="code" tabindex="0">{html.escape(text)}</pre>\n'


def render_line(text: str) -> Markup:
    """
    Safe HTML of a sentence about a submission: its `code`, shapes and places are set as code.

    Nothing else is special: such a sentence may quote what a student's program said, so it is no Markdown.
    """
    marked = _CODE.sub(lambda found: f"<code>{found[1] or found[2]}</code>", html.escape(text))
    return Markup(marked)  # noqa: S704  escaped just now


def highlight_code(source: str, language: str = "python") -> str:
    """
    The inside of a <pre>: `source` as spans with the classes of static/css/code.css.

    A language that is not among the few that are known here is shown plain.
    """
    name = language.lower() if language.lower() in _LEXERS else "text"
    return rendered(source, f"code {name}", render=lambda code, budget: _coloured(code, name, budget), plain=_plain)


def _coloured(source: str, language: str, budget: RenderBudget) -> str:
    if language not in _LEXERS:
        return _plain(source)
    tokens = []
    for token in _LEXERS[language](stripnl=False).get_tokens(source):
        budget.check()
        tokens.append(token)
    written = StringIO()
    HtmlFormatter(nowrap=True).format(tokens, written)
    return written.getvalue().rstrip("\n")


def _plain(source: str) -> str:
    return html.escape(source.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")


class _Renderer(RendererHTML):
    """Renders what differs from plain Markdown: code, formulas, headings, and tables that may be wide."""

    def fence(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType) -> str:
        language = tokens[idx].info.strip().split(" ")[0].lower()
        try:
            code = _coloured(tokens[idx].content, language, env["budget"])
        except RenderTooSlow:
            code = _plain(tokens[idx].content)
        # A wide block scrolls, so it has to be reachable by keyboard.
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
    # They match nothing, and stand first, so that every step of the parser asks whether it may be taken.
    parser.inline.ruler.before("text", "budget", _check_inline)
    parser.block.ruler.before("table", "budget", _check_block, {"alt": _BLOCKS})
    return parser


def _check_inline(state: StateInline, _silent: bool) -> bool:  # noqa: FBT001  the parser's own form
    state.env["budget"].check()
    return False


def _check_block(state: StateBlock, _first: int, _last: int, _silent: bool) -> bool:  # noqa: FBT001
    state.env["budget"].check()
    return False


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
    env["budget"].check()
    env["formulas"][marker] = _mathml(latex.strip(), display=display)
    return marker


def _mathml(latex: str, *, display: str) -> str:
    try:
        if len(latex) > _LONGEST_FORMULA:
            raise ValueError  # noqa: TRY301  shown as one that cannot be read
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
