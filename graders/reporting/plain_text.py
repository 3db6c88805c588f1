"""
Hostile text made printable, and without the paths of this server.

What a run prints is bytes of unknown intent, cut at a bound that knows nothing of characters. A carriage return does
what it does in a terminal, since progress bars are made of it: what comes after it is written over the line. Files of
Python, torch and ourselves are named from the folder on that a student can know them by.
"""

import re
import sysconfig
from functools import cache
from pathlib import Path

_CONTINUES = range(0x80, 0xC0)  # bytes of UTF-8 that are not the first of a character
_LONGEST = 4


def shown(raw: bytes | bytearray, *, cut: bool) -> str:
    """
    What was printed, as text for people.

    Args:
        raw: as it came.
        cut: was there more? Then a last character that is not whole is left out.
    """
    return plain((_whole(bytes(raw)) if cut else bytes(raw)).decode("utf-8", "replace"))


def _whole(raw: bytes) -> bytes:
    for size in range(1, min(_LONGEST, len(raw)) + 1):
        first = raw[-size]
        if first in _CONTINUES:
            continue
        wanted = 1 if first < _CONTINUES.start else 2 + (first >= 0xE0) + (first >= 0xF0)  # noqa: PLR2004  of UTF-8
        return raw if size >= wanted else raw[:-size]
    return raw


def plain(text: str) -> str:
    """No NUL, no control characters but newline and tab, no lone surrogates, no path of this server."""
    if "/" in text:
        text = _without_paths(text)
    if text.isascii() and text.isprintable():
        return text
    lines = [_overwritten(line) if "\r" in line else line for line in text.replace("\r\n", "\n").split("\n")]
    visible = (one if one >= " " or one in "\n\t" else "�" for one in "\n".join(lines))
    return "".join(visible).encode("utf-8", "replace").decode("utf-8")


def _overwritten(line: str) -> str:
    """What is left to see of a line in which the cursor went back to its beginning."""
    seen = ""
    for part in line.split("\r"):
        seen = part + seen[len(part) :]
    return seen.rstrip(" ")


def _without_paths(text: str) -> str:
    return _paths().sub(lambda found: found[1] or "", text)


_hidden: set[str] = set()


def hide(folder: Path) -> None:
    """From now on leave out what lies before `site-packages` in the paths below a folder in which runs find theirs."""
    _hidden.update({str(folder), str(folder.resolve())})
    _paths.cache_clear()


@cache
def _paths() -> re.Pattern[str]:
    """Folders of this server, each up to the part that is left standing."""
    folders = {str(Path(__file__).resolve().parent.parent.parent), *_hidden}
    for kind in ("purelib", "platlib", "stdlib", "platstdlib"):
        path = Path(sysconfig.get_path(kind))
        folders |= {str(path.parent), str(path.resolve().parent)}
    known = "|".join(re.escape(one) for one in sorted(folders, key=len, reverse=True) if len(one) > 1)
    return re.compile(rf"(?:{known})/((?:site-packages|graders|python[\d.]+)\b)")
