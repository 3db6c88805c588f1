"""
How much of the processor others' text may cost a page, and what is kept so that it costs that once.

Markdown, code and formulas are turned into HTML by libraries whose time can grow faster than the text: brackets that
never close, marks of emphasis by the thousand, lines of blanks in code. Which texts these are cannot be listed, so time
itself is bounded. A budget counts the processor time of its thread, which does not depend on how busy the machine is;
the parser asks it at every step (a rule of ours stands first among the parser's), and so does whoever reads tokens of
code. Where it is spent, the text is shown as it was written.

There are two bounds. One text may cost `TEXT_CPU_S`: one that costs more is shown plain from then on. All texts of a
page together may cost `PAGE_CPU_S`: what comes after that is shown plain this time, and rendered when the page is
opened again, because what was rendered before is kept by then. A text that is longer than `LONGEST_CHARS` or has
more lines than `MOST_LINES` is not looked at. What is kept is found by a hash of the text, and is bounded by its size.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from threading import Lock

TEXT_CPU_S = 0.15
PAGE_CPU_S = 0.2
LONGEST_CHARS = 256 * 1024
MOST_LINES = 10_000
KEPT_CHARS = 16 * 1024 * 1024


class RenderTooSlow(Exception):
    """A text costs more than it may."""

    def __init__(self, *, by_itself: bool) -> None:
        """`by_itself`: it would do so on a page of its own too."""
        super().__init__(by_itself)
        self.by_itself = by_itself


class PageBudget:
    """What is left for all texts of one page."""

    def __init__(self, cpu_s: float = PAGE_CPU_S) -> None:
        """Nothing is spent yet."""
        self.left_s = cpu_s


class RenderBudget:
    """What one text may cost. Use it in the thread that renders."""

    def __init__(self, page: PageBudget) -> None:
        """Begin to count."""
        self._page = page
        self._begun_s = time.thread_time()

    @property
    def spent_s(self) -> float:
        """Processor time since the beginning."""
        return time.thread_time() - self._begun_s

    def check(self) -> None:
        """Go on if there is something left. Raises RenderTooSlow."""
        spent_s = self.spent_s
        if spent_s > TEXT_CPU_S:
            raise RenderTooSlow(by_itself=True)
        if spent_s > self._page.left_s:
            raise RenderTooSlow(by_itself=False)

    def settle(self) -> None:
        """Take what was spent from the page's."""
        self._page.left_s = max(0.0, self._page.left_s - self.spent_s)


_page: ContextVar[PageBudget | None] = ContextVar("page_budget", default=None)


def begin_page() -> None:
    """Begin with a request. What it does in threads draws on the same budget."""
    _page.set(PageBudget())


def rendered(
    text: str, kind: str, *, render: Callable[[str, RenderBudget], str], plain: Callable[[str], str], keep: bool = True
) -> str:
    """
    Return a text as `render` makes it, or as `plain` does where that costs too much.

    Args:
        text: anybody's.
        kind: names what `render` does, so that results are not mixed up.
        render: the costly way; asks the budget at every step.
        plain: the cheap way.
        keep: whether the text will be shown again as it is.
    """
    key = sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()
    if (known := _kept.get(key)) is not None:
        return known
    budget, lasts = RenderBudget(_page.get() or PageBudget()), True
    try:
        is_short = len(text) <= LONGEST_CHARS and text.count("\n") <= MOST_LINES
        made = render(text, budget) if is_short else plain(text)
    except RenderTooSlow as slow:
        made, lasts = plain(text), slow.by_itself
    except RecursionError:
        made = plain(text)
    finally:
        budget.settle()
    if keep and lasts:
        _kept.put(key, made)
    return made


class _Kept:
    """Results by the hash of what they were made of; the one that was asked for longest ago goes first."""

    def __init__(self, most_chars: int) -> None:
        self._most_chars, self._chars = most_chars, 0
        self._found: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: bytes, made: str) -> None:
        with self._lock:
            self._chars += len(made) - len(self._found.pop(key, ""))
            self._found[key] = made
            while self._chars > self._most_chars:
                self._chars -= len(self._found.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._found.clear()
            self._chars = 0


_kept = _Kept(KEPT_CHARS)


def forget_all() -> None:
    """Forget what is kept."""
    _kept.clear()
