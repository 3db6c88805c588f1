"""
Every way in which a text may be read as code, as sequences of tokens.

Code in an answer need not stand in a code block: it may be in a sentence, behind `>>>`, a bullet, a
line number or the `+` of a diff, with comments between its tokens, in letters that only look like
ours, in HTML entities, backwards or in Base64. So a text is brought into one form of letters, and
read several times: with and without comments, with and without what stands before lines. White
space, line ends, quotes and back-ticks are no tokens, so it does not matter where they are.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from app.services.tutor.leak_guard.tokens import Tokens, canonical

# Letters and signs that look like those of Python, and are not made the same by NFKC.
_LOOK_ALIKES = str.maketrans(
    dict(zip("авекмнорстухіјѕԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορτυχιϲ", "abekmhopctyxijsdqwhlABEZHIKMNOPTYXavoptuxic", strict=True))
    | dict(zip("АВЕКМНОРСТУХІЈЅ", "ABEKMHOPCTYXIJS", strict=True))
    | dict.fromkeys("×·⋅∙∗✕✖", "*")
    | dict.fromkeys("−–—‐‑﹣", "-")
    | dict.fromkeys("÷∕⁄", "/")
    | dict.fromkeys("‘’‚“”„′″´", "'")
    | dict.fromkeys("❨⟮﴾", "(")
    | dict.fromkeys("❩⟯﴿", ")")
    | {"꞊": "=", "ꓸ": ".", "․": ".", "‗": "_", "ˍ": "_", "∶": ":", "ı": "i", "ⅼ": "l"}
)
_COMMENT = re.compile(r"#[^\n]*")
# What an editor, an interpreter, a diff or Markdown puts before a line; several may stand there.
_BEFORE_LINE = re.compile(
    r"^[^\S\n]*(?:(?:>>>|\.\.\.|>|[-+*•|]|\d{1,4}[.:)|]?(?=\s)|(?:in|out)\s?\[\d*\]:|\[\d+\]:?)[^\S\n]*)+",
    re.IGNORECASE | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>|<!--[^<>\n]{0,200}-->", re.IGNORECASE)
# In Markdown `token\_emb` is `token_emb`, and a formula puts words into commands.
_MARKDOWN_ESCAPE = re.compile(r"\\([^\w\s])|\\(?=_)")
_FORMULA_WORD = re.compile(r"\\(?:text|mathrm|mathtt|texttt|mathit|mathbf|operatorname)\{([^{}]*)\}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2}[\s:]?){8,}", re.IGNORECASE)
_SPELLED = re.compile(r"(?:(?<=\s)|^)(?:\S[^\S\n]{1,3}){7,}\S(?=\s|$)", re.MULTILINE)


def decodings(text: str, *, decoded: bool = True) -> set[Tokens]:
    """
    Return every sequence of tokens that the text may be read as.

    Args:
        text: of any kind.
        decoded: whether to read it backwards and deciphered too.
    """
    plain = letters(text)
    forms = {plain, _COMMENT.sub("", plain), (lines := _BEFORE_LINE.sub("", plain)), _COMMENT.sub("", lines)}
    return {canonical(form) for form in (forms.union(_decoded(plain)) if decoded else forms)}


def letters(text: str) -> str:
    """Bring letters and signs into one form: entities, widths, look-alikes, and marks that nobody sees."""
    text = html.unescape(html.unescape(text))
    text = unicodedata.normalize("NFKC", text.translate(_LOOK_ALIKES)).translate(_LOOK_ALIKES)
    apart = unicodedata.normalize("NFD", text)
    return "".join(one for one in apart if unicodedata.category(one) not in {"Cf", "Mn", "Me", "Cs", "Co", "Cn"})


def _decoded(text: str) -> Iterator[str]:
    """Yield what a text may be in disguise."""
    yield "\n".join(line[::-1] for line in text.split("\n"))
    yield codecs.encode(text, "rot13")
    yield unquote(text)
    yield _ESCAPE.sub(_escaped, text)
    yield _TAG.sub("", text)
    yield _FORMULA_WORD.sub(r"\1", _MARKDOWN_ESCAPE.sub(r"\1", text))
    yield _SPELLED.sub(lambda found: re.sub(r"(?<=\S)\s(?=\S)", "", found[0]), text)
    hidden = [*_in_base64(text), *_in_hex(text)]
    if hidden:
        yield letters("\n".join(hidden))


def _escaped(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or found[3], 16)
    return chr(code) if code < 0x110000 else ""  # noqa: PLR2004  # where Unicode ends


def _in_base64(text: str) -> Iterator[str]:
    for found in _BASE64.findall(text):
        ordinary = found.rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            yield base64.b64decode(ordinary + "=" * (-len(ordinary) % 4), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue


def _in_hex(text: str) -> Iterator[str]:
    for found in _HEX.findall(text):
        try:
            yield bytes.fromhex(re.sub(r"[\s:]", "", found)).decode()
        except (ValueError, UnicodeDecodeError):
            continue
