"""What Python cannot read: signs that are not code, brackets, quotes, colons and spaces."""

import re
import sys
import unicodedata

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene

_S = "SyntaxError"
_CURLY = "“”„‟«»‘’‚‛"
_DASHES = "‐‑‒–—−"
_NAMED = {"\u00a0": "a no-break space", "\ufeff": "a byte-order mark", "\u200b": "a zero-width space"}


def _line(scene: Scene, number: int | None = None) -> str:
    """A line of the student's, without the spaces around it."""
    wanted = number or scene.line
    return scene.lines[wanted - 1].strip()[:200] if 0 < wanted <= len(scene.lines) else scene.code


def _strange(scene: Scene, match: re.Match[str]) -> str:
    """A sign that is no part of Python."""
    code = int(match[2], 16)
    sign = chr(code) if code <= sys.maxunicode else "?"
    name = unicodedata.name(sign, f"U+{match[2]}").lower()
    if sign in _CURLY:
        return (
            f"The quote {sign} on line {scene.line} is a curly one ({name}), as text programs put it in; "
            "Python knows only the straight quotes ' and \". "
            "Was this line copied from a page or a document?"
        )
    if sign in _DASHES:
        return (
            f"The sign {sign} on line {scene.line} looks like a minus, but is another character ({name}). "
            "Type it anew with the key for minus."
        )
    if not sign.isprintable() or sign.isspace():
        seen = _NAMED.get(sign, f"an invisible character ({name})")
        return (
            f"There is {seen} (U+{match[2]}) on line {scene.line}: one cannot see it, and Python cannot read it. "
            "Delete the space at that place and type it again."
        )
    if unicodedata.normalize("NFKC", sign) != sign and unicodedata.normalize("NFKC", sign).isascii():
        return (
            f"The sign {sign} on line {scene.line} looks like {unicodedata.normalize('NFKC', sign)}, "
            f"but is another character ({name}). "
            "Type it anew with a keyboard that writes plain letters."
        )
    return f"Python has no sign {sign} ({name}), which stands on line {scene.line}. Which one did you want here?"


def _string_open(scene: Scene, match: re.Match[str]) -> str:
    quote = _line(scene)
    mark = '"' if quote.count('"') % 2 else "'"
    return (
        f"The text that begins with {mark} on line {scene.line} has no closing quote, "
        "so Python reads the rest of the line as text. "
        "Where should it end?"
    )


def _never_closed(scene: Scene, match: re.Match[str]) -> str:
    code = _line(scene).replace("`", "'")
    line = f" (`{code[:60]}{'…' if len(code) > 60 else ''}`)" if code else ""  # noqa: PLR2004  characters
    return (
        f"The bracket `{match[1]}` that is opened on line {scene.line}{line} is never closed. "
        "Count the brackets of that line: which one lacks its partner?"
    )


def _mismatch(scene: Scene, match: re.Match[str]) -> str:
    where = f"on line {match[3]}" if match[3] else "earlier on this line"
    return (
        f"On line {scene.line} the bracket `{match[1]}` closes what `{match[2]}` has opened {where}. "
        "Each bracket is closed by its own kind: which of the two is the wrong one?"
    )


def _missing_colon(scene: Scene, _: re.Match[str]) -> str:
    line = _line(scene)
    first = line.split(None, 1)[0].rstrip(":(") if line else "this"
    assigned = re.match(r"(?:el)?if\b|while\b", line) and re.search(r"[^=!<>]=[^=]", line)
    more = " And to compare two values one writes `==`." if assigned else ""
    return f"Line {scene.line} begins a block with `{first}`, and such a line ends with a colon.{more}"


def _no_block(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"After the line with {match[1]} (line {match[2]}) Python expects lines that are indented under it. "
        "Which lines belong to it? "
        "Give each of them four spaces more."
    )


_INVALID = (  # of lines that are only told to be invalid: what stands there, and what is said of it
    ("walrus", r"^\s*\w+\s*:=", "A line of its own stores a value with a plain `=`. The sign `:=` works only inside a "
     "larger expression, in brackets."),
    ("prompt", r"^\s*(?:>>>|\.\.\.(?!\w))", "Line {line} begins with the prompt of an interactive Python, `>>>` or "
     "`...`. That is printed by Python and is not part of the code: take it away."),
    ("cell", r"^\s*(?:In|Out)\s?\[\d*\]", "Line {line} begins with a notebook's number of a cell, which is not part of "
     "the code. Take it away."),
    ("magic", r"^\s*[%!]", "Line {line} is a command of notebooks (it begins with % or !), and this is a plain Python "
     "program. Leave it out: torch and numpy are here already."),
    ("fence", r"^\s*`{3}", "Line {line} is a code fence (three backquotes) that chats and Markdown put around code. It "
     "is not part of the code: delete it, and its partner."),
    ("help",
         r"^\s*\w[\w.]*\?+\s*$|^\s*\?\w", "A question mark asks for help in notebooks only. Here `help(…)` prints it."),
    ("else-if", r"^\s*else\s+if\b", "Python joins the two words: `elif`. How does line {line} read then?"),
    ("catch", r"^\s*catch\b|^\s*}\s*catch", "Python's word for it is `except`, under a block that begins with `try:`."),
    ("lone-else",
         r"^\s*(?:else|elif|except|finally)\b", "There is nothing that the first word of line {line} could belong "
     "to: it must stand right after its block, exactly under the line that begins it. Where is that line, and how "
     "far is "
     "it indented?"),
    ("increment",
         r"\w(?:\+\+|--)\s*$|^\s*(?:\+\+|--)\w", "Python has no `++` and no `--`. Which short form adds to a name "
     "what stands on its right?"),
    ("logic", r"&&|\|\||[(\s]!\s*\w", "Python writes logic in words: `and`, `or`, `not`. Which of them do you mean on "
     "line {line}?"),
    ("arrow", r"=>|=<", "In a comparison the sign `=` comes last: `>=` or `<=`."),
    ("not-equal", r"<>", "To ask whether two values differ Python writes `!=`."),
    ("other-language", r"^\s*(?:let|var|const|int|float|double|auto|bool|string|function|func|fn|void|new)\s+\w",
     "Line {line} reads like another language: "
     "in Python a name gets its value with `name = value`, without a word in front, and a function begins with `def`."),
    ("for-in-c",
         r"^\s*for\s*\(.*;", "This is how other languages write a loop. Python's goes over things: `for name in "
     "things:`. Over what does yours go?"),
    ("braces",
         r"\)\s*\{\s*$", "Python has no braces around blocks: the line ends with a colon, and what belongs to it is "
     "indented."),
    ("import-from", r"^\s*import\s+\w[\w., ]*\s+from\b", "The order is the other way round: first from where, then "
     "what: `from module import name`."),
    ("keyword-name",
         r"^\s*(?:class|lambda|in|is|from|def|pass|global|not|and|or|with|as|del|async|await|yield|return|if|"
     r"while|for|try|import|None|True|False)\s*=[^=]", "The word left of `=` on line {line} belongs to Python "
          "itself, so "
     "it cannot be a name of yours. What else could it be called?"),
    ("keyword-argument-name",
         r"[(,]\s*(?:class|lambda|in|is|from|def|pass|global|with|as|del|async|await|yield|return)\s*=",
     "One of the argument names on line {line} is a word of Python's own, which cannot be a name."),
    ("no-in",
         r"^\s*for\s+\w+\s+(?:range|enumerate|of)\b", "A loop reads `for name in things:`; the word `in` is what is "
     "missing on line {line}."),
    ("no-parameters",
         r"^\s*def\s+\w+\s*:", "A function's name is followed by round brackets, also if it takes nothing."),
    ("no-function-name", r"^\s*def\s*\(", "`def` is followed by the function's name and then by its brackets."),
    ("double-equals-sign", r"={3}", "Python compares with `==`: two signs, not three."),
    ("empty-argument", r",\s*,|\(\s*,", "There are two commas on line {line} with nothing between them. Is something "
     "missing there?"),
    ("unfinished", r"[-+*/@=(,]\s*(?:#.*)?$", "Line {line} ends in the middle: after its last sign something must "
     "follow. What did you want to write there?"),
)  # fmt: skip


def _looks_like(name: str) -> ExplanationRule:
    """What a line that Python only calls invalid looks like."""
    _, text, words = next(one for one in _INVALID if one[0] == name)
    pattern = re.compile(text)

    def said(scene: Scene, _: re.Match[str]) -> str | None:
        return words.replace("{line}", str(scene.line)) if pattern.search(_line(scene)) else None

    return ExplanationRule(name, _S, r"invalid syntax|expected|cannot|illegal|forget|forgot", said)


def _comma(scene: Scene, _: re.Match[str]) -> str:
    return (
        f"Two things stand side by side on line {scene.line} with nothing between them. "
        "Is a comma missing, an operator, or a bracket or quote before it?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("strange-sign", _S, r"invalid (non-printable )?character (?:'.' )?\(?U\+([0-9A-F]{4,6})", _strange),
    ExplanationRule("text-not-closed", _S, r"unterminated string literal", _string_open),
    ExplanationRule("long-text-not-closed",
         _S, r"unterminated triple-quoted", "The long text that begins with three quotes on line "
         "{line} is never closed by three quotes, so all that follows is read as text."),
    ExplanationRule("bracket-not-closed", _S, r"'(.)' was never closed", _never_closed),
    ExplanationRule("bracket-of-other-kind",
         _S, r"parenthesis '(.)' does not match opening parenthesis '(.)'(?: on line (\d+))?",
         _mismatch),
    ExplanationRule("bracket-not-opened",
         _S, r"unmatched '(.)'", "The bracket `{0}` on line {line} closes something that was never "
         "opened. Is it one too many, or is its partner missing?"),
    *map(_looks_like, ("fence", "prompt", "cell", "magic", "walrus", "import-from", "for-in-c")),
    ExplanationRule("equals-in-condition",
         _S, r"Maybe you meant '==' or ':=' instead of '='", "A single `=` gives a name a value, and "
         "that cannot stand inside line {line}. Did you want to ask whether two values are equal? That is written "
         "`==`."),
    ExplanationRule("assign-to-call",
         _S, r"cannot assign to function call", "On line {line} a call stands left of `=`, and only a name "
         "can take a value: the name comes first, then `=`, then what is worked out. To compare, write `==`."),
    ExplanationRule("assign-to-literal",
         _S, r"cannot assign to (literal|True|False|None|f-string expression)", "Left of `=` on line "
         "{line} stands a value and not a name, so there is nothing that could take the value. Are the two sides "
         "swapped?"),
    ExplanationRule("assign-to-expression",
         _S, r"cannot assign to (\w+)", "Only a name can stand left of `=`, and on line {line} "
         "there is a whole expression. Is it a minus where an underscore should be, or `==` that you want?"),
    ExplanationRule("augmented-to-expression",
         _S, r"'(.+)' is an illegal expression for augmented assignment", "Left of a sign such as "
         "`+=` there must be one name; on line {line} it is more than that."),
    ExplanationRule("delete-expression",
         _S, r"cannot delete (\w+)", "`del` takes a name or an entry away; what stands after it on line "
         "{line} is neither."),
    ExplanationRule("else-if", _S, r"expected ':'", lambda s, m: _looks_like("else-if").explanation(s)),
    *map(_looks_like, ("braces",)),
    ExplanationRule("no-colon", _S, r"expected ':'", _missing_colon),
    *map(_looks_like, ("no-parameters", "no-function-name", "keyword-name", "keyword-argument-name")),
    ExplanationRule("no-block", "IndentationError", r"expected an indented block after (.+) on line (\d+)", _no_block),
    ExplanationRule("block-never-begun",
         "IndentationError", r"unexpected indent", "Line {line} is indented further than the line above, "
         "and nothing above it begins a block. Does it belong to a block, or are the spaces at its beginning too "
         "many?"),
    ExplanationRule("indent-fits-nothing",
         "IndentationError", r"unindent does not match", "The spaces at the beginning of line {line} fit "
         "none of the lines above it: a line that goes back must begin exactly where an earlier one did. How many "
         "spaces "
         "have its neighbours?"),
    ExplanationRule("tabs",
         "TabError", r"", "On line {line} tabs and spaces are mixed at the beginning: they look alike and are not. Use "
         "four spaces for each step everywhere."),
    ExplanationRule("return-outside",
         _S, r"'return' outside function", "`return` hands something back from a function, and line {line} is "
         "not inside one. Should it be indented under a `def`, or is a plain name with `=` what you want?"),
    ExplanationRule("yield-outside",
         _S, r"'(yield|yield from)' outside function", "`{0}` works only inside a function, and line {line} is "
         "in none."),
    ExplanationRule("await-outside",
         _S, r"'await' outside|asynchronous comprehension|'async \w+' outside", "`await` and `async` work only "
         "inside an `async def` function, and line {line} is in none."),
    ExplanationRule("break-outside",
         _S, r"'(break)' outside loop|'(continue)' not properly in loop", "`break` and `continue` belong inside "
         "a loop, and line {line} is in none. How far should it be indented?"),
    ExplanationRule("f-string-brace",
         _S, r"f-string: (?:expecting '}'|unterminated|expected '}')", "A brace in the f-string on line {line} "
         "is opened and not closed: what stands between `{{` and `}}` is worked out."),
    ExplanationRule("f-string-empty",
         _S, r"f-string: (?:empty expression|valid expression required)", "There is nothing between the "
         "braces of the f-string on line {line}. Which name should be shown there?"),
    ExplanationRule("f-string-single",
         _S, r"f-string: single '}'", "In the f-string on line {line} a brace `}}` closes nothing. To show a "
         "brace itself it is written twice."),
    ExplanationRule("f-string",
         _S, r"f-string", "Python cannot read what stands between the braces of the f-string on line {line}. Do the "
         "quotes inside differ from those around it?"),
    ExplanationRule("print-without-brackets",
         _S, r"Missing parentheses in call to '(\w+)'", "`{0}` is a function, and what it is to work on "
         "stands in round brackets. (Older Pythons did without.)"),
    ExplanationRule("argument-after-named",
         _S, r"positional argument follows keyword argument", "On line {line} a plain argument stands "
         "after one with a name (`name=…`). Those without a name come first: in which order does the function take "
         "them?"),
    ExplanationRule("argument-named-twice",
         _S, r"keyword argument repeated: (\w+)", "The argument `{0}` is given twice on line {line}. Which "
         "of the two is meant?"),
    ExplanationRule("argument-no-name",
         _S, r"expression cannot contain assignment", "Inside the brackets on line {line} the left side of `=` "
         "is no plain name. An argument is named by one word; to compare write `==`."),
    ExplanationRule("parameter-order",
         _S, r"non-default argument follows default argument", "In this `def` a parameter without a value "
         "stands after one that has a value by itself. Those without come first."),
    ExplanationRule("parameter-twice",
         _S, r"duplicate argument '(\w+)'", "This function has two parameters called `{0}`. What should the "
         "second one be called?"),
    ExplanationRule("leading-zeros",
         _S, r"leading zeros", "A whole number does not begin with 0 in Python: on line {line} write it without "
         "the zeros in front."),
    ExplanationRule("number-then-letters",
         _S, r"invalid (decimal|hexadecimal|octal|binary) literal", "On line {line} a number runs into "
         "letters. A name cannot begin with a digit, and a product needs its `*`. Which of the two is it?"),
    ExplanationRule("after-backslash",
         _S, r"unexpected character after line continuation", "After the backslash on line {line} something "
         "follows, and a backslash outside of a text may only end the line. Was it meant to be `/`, or a text in "
         "quotes?"),
    ExplanationRule("global-too-late",
         _S, r"name '(\w+)' is (?:used|assigned to|parameter) .*(global|nonlocal)", "The line `{1} {0}` must "
         "come before `{0}` is used in that function."),
    ExplanationRule("nonlocal",
         _S, r"nonlocal|no binding for", "`nonlocal` speaks of a name of the function around this one, and there is no "
         "such name around line {line}."),
    *map(_looks_like, ("catch",)),
    ExplanationRule("try-alone",
         _S, r"expected 'except' or 'finally'", "A `try:` needs an `except` or a `finally` under it, and line {line} "
         "comes before there is one."),
    ExplanationRule("star-alone",
         _S, r"can't use starred expression|starred assignment", "A star unpacks something into a call, a list or "
         "several names; on line {line} it stands alone."),
    ExplanationRule("null-byte",
         "ValueError SyntaxError", r"null bytes", "There is a zero byte in the text. Was it saved as UTF-16, or is "
         "it not a Python file?"),
    ExplanationRule("unicode-escape",
         _S, r"unicodeescape|\(unicode error\)", "In a text a backslash with the letter after it is a special "
         "sign, as in the path on line {line}. Write r before the quotes, or `/` in the place of the backslash."),
    ExplanationRule("too-deep-to-read",
         "SyntaxError RecursionError MemoryError", r"too many (?:statically )?nested|too many levels", "Blocks or "
         "brackets are nested too deep for Python near line {line}. Could a function of its own hold the inner part?"),
    *map(_looks_like, ("help", "lone-else", "increment", "logic", "arrow", "not-equal", "other-language", "no-in",
                       "double-equals-sign", "empty-argument", "unfinished")),
    ExplanationRule("comma-missing", _S, r"Perhaps you forgot a comma", _comma),
)  # fmt: skip
