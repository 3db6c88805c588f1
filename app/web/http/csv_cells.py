"""Cells of tables for spreadsheet programs."""

from collections.abc import Iterable

# What a spreadsheet takes for the beginning of a formula, which may fetch addresses and start programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_row(cells: Iterable[object]) -> list[str]:
    """Return cells as text that no spreadsheet runs: one that looks like a formula gets an apostrophe before it."""
    return [_safe(str(cell)) for cell in cells]


def _safe(cell: str) -> str:
    # some programs drop the spaces before a formula, and then see one
    return f"'{cell}" if cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA) else cell
