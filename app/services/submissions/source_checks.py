"""What source must be before it is stored: short enough, and text that a Python file can hold."""

from app.errors import SourceNotText, SourceTooLarge
from graders.task import MAX_SOURCE_BYTES

_SURROGATES = range(0xD800, 0xE000)


def checked_source(source: str) -> str:
    """
    Return the source as it is, or say what is wrong with it. Empty is fine: it is graded.

    Raises:
        SourceTooLarge: more than MAX_SOURCE_BYTES as UTF-8.
        SourceNotText: it holds NUL, or half of a surrogate pair, which UTF-8 cannot express.
    """
    for number, line in enumerate(source.split("\n"), start=1):
        if "\0" in line:
            raise SourceNotText(what="a NUL character", line=number)
        if not line.isascii() and any(ord(character) in _SURROGATES for character in line):
            raise SourceNotText(what="half of a surrogate pair (\\ud800 to \\udfff)", line=number)
    size_bytes = len(source.encode())
    if size_bytes > MAX_SOURCE_BYTES:
        raise SourceTooLarge(size_bytes=size_bytes, limit_bytes=MAX_SOURCE_BYTES)
    return source
