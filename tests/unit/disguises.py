"""Ways in which a line of code may be brought into an answer without looking like one."""

import ast
import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote

Disguise = Callable[[str], str]


def indented(code: str, by: str) -> str:
    """Put something before each line."""
    return "\n".join(by + line for line in code.splitlines())


def numbered(code: str) -> str:
    """Number the lines, as a listing does."""
    return "\n".join(f"{number:3}  {line}" for number, line in enumerate(code.splitlines(), start=1))


def spaced(code: str) -> str:
    """Put spaces where Python allows them."""
    return re.sub(r"(?<![=!])=(?!=)|[()\[\],+]|(?<!\d)\.(?!\d)", lambda sign: f" {sign[0]} ", code)


def over_lines(code: str) -> str:
    """Go on to another line, with a comment, behind each bracket and comma."""
    return code.replace("(", "(  # here\n").replace(",", ",  # and\n")


def full_width(code: str) -> str:
    """Use the wide forms of the signs."""
    return code.translate({ord(sign): ord(sign) + 0xFEE0 for sign in "()=+[],"})


def look_alikes(code: str) -> str:
    """Use Cyrillic letters."""
    return code.translate(str.maketrans("aceopx", "асеорх"))


def unseen(code: str) -> str:
    """Put marks between letters that nobody sees."""
    return "\u200b".join(code)


def entities(code: str) -> str:
    """Write signs as HTML does."""
    return html.escape(code).replace("(", "&#40;").replace("=", "&equals;").replace("_", "&lowbar;")


def renamed(code: str) -> str:
    """Give what is made another name."""
    tree = ast.parse(code)
    statement = tree.body[0]
    if isinstance(statement, ast.Assign):
        statement.targets = [ast.Name("result")]
        return ast.unparse(statement)
    return code


def value_alone(code: str) -> str:
    """Leave out the name that it is given."""
    statement = ast.parse(code).body[0]
    return ast.unparse(statement.value) if isinstance(statement, ast.Assign) else code


def in_base64(code: str) -> str:
    """Write it in Base64."""
    return base64.b64encode(code.encode()).decode()


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROT13 = str.maketrans(
    _LETTERS + _LETTERS.upper(), _LETTERS[13:] + _LETTERS[:13] + (_LETTERS[13:] + _LETTERS[:13]).upper()
)

DISGUISES: dict[str, Disguise] = {
    "in a fenced block": lambda code: f"Look:\n\n```python\n{code}\n```\n",
    "in a block of tildes": lambda code: f"Look:\n\n~~~\n{code}\n~~~\n",
    "indented": lambda code: f"Look:\n\n{indented(code, '    ')}\n",
    "in back-ticks": lambda code: f"You may write `{code}`, and then check.",
    "in a sentence": lambda code: f"Perhaps {code} does it, what do you think?",
    "a line by itself": lambda code: f"Try this.\n{code}\nThen check.",
    "with spaces": lambda code: f"Try {spaced(code)} here",
    "without spaces": lambda code: f"try:{code.replace(' = ', '=').replace(', ', ',')}.",
    "over several lines": lambda code: f"```\n{over_lines(code)}\n```",
    "with a semicolon": lambda code: f"a = 1; {code}; b = 2",
    "with a continuation": lambda code: code.replace(" = ", " = \\\n    "),
    "with other names": lambda code: f"Try `{renamed(code)}`",
    "its value alone": lambda code: f"It is `{value_alone(code)}`.",
    "as a diff": lambda code: f"```diff\n- old = 1\n{indented(code, '+ ')}\n```",
    "as a tight diff": lambda code: indented(code, "+"),
    "at a prompt": lambda code: indented(code, ">>> "),
    "in a quotation": lambda code: indented(code, "> "),
    "in a notebook": lambda code: f"In [3]: {code}",
    "as a list": lambda code: indented(code, "1. "),
    "as bullets": lambda code: indented(code, "- "),
    "with line numbers": numbered,
    "as a comment": lambda code: indented(code, "# "),
    "in capitals": str.upper,
    "in bold": lambda code: f"**{code}**",
    "in a table": lambda code: f"| step | code |\n|---|---|\n| 1 | {code} |",
    "in wide letters": full_width,
    "in look-alikes": look_alikes,
    "with unseen marks": unseen,
    "in entities": entities,
    "in tags": lambda code: f"<pre><code>{code.replace('(', '<b>(</b>')}</code></pre>",
    "as JSON": lambda code: json.dumps({"code": code}),
    "in percents": quote,
    "in escapes": lambda code: "".join(f"\\u{ord(letter):04x}" for letter in code),
    "letter by letter": " ".join,
    "backwards": lambda code: "\n".join(line[::-1] for line in code.splitlines()),
    "in Base64": in_base64,
    "in hexadecimal": lambda code: code.encode().hex(),
    "in ROT13": lambda code: f"rot13: {code.translate(ROT13)}",
}
