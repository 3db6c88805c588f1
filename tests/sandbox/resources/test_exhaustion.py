"""A student's process cannot use up what belongs to others."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graders.report import Report, Verdict
from graders.task import Limits

Run = Callable[[str], Report]
Grade = Callable[..., Report]
IGNORING = """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
"""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a loop", "while True: pass"),
        ("a sleep", "import time\ntime.sleep(1e6)"),
        ("a regular expression", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')"),
        ("a large power", "10 ** 10 ** 8"),
        ("one long torch call", "a = torch.ones(4000, 4000)\nwhile True: a = a @ a"),
        ("a lock", "import threading\nl = threading.Lock(); l.acquire(); l.acquire()"),
        ("ignoring every signal", IGNORING + "while True: pass"),
        ("stopping itself", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
        ("reading its own pipe", "import os\nos.read(3, 1)\nos.read(3, 1)"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_student_cannot_run_for_ever(run_hastily: Run, name: str, code: str) -> None:
    """Whatever keeps it busy or idle, it is ended from outside; on a busy machine by the clock at the latest."""
    begun = time.monotonic()
    assert run_hastily(code).verdict is Verdict.TIME_LIMIT
    assert time.monotonic() - begun < 10 * Limits().wall_time_s


@pytest.mark.parametrize(
    "code",
    [
        "torch.ones(3 * 2**30)",
        "keep = []\nwhile True: keep.append(torch.ones(2**25))",
        "keep = bytearray(4 * 2**30)",
        "import mmap\nm = mmap.mmap(-1, 4 * 2**30)\nfor i in range(0, 4 * 2**30, 4096): m[i] = 1",
        "x = 'a'\nwhile True: x += x",
        "keep = {}\nwhile True: keep[len(keep)] = [0] * 10**7",
    ],
    ids=["one tensor", "many tensors", "bytes", "shared map", "a text", "objects"],
)
def test_student_cannot_take_all_memory(run: Run, code: str) -> None:
    """Inside the heap or outside it, the budget holds."""
    assert run(code).verdict is Verdict.MEMORY_LIMIT


@pytest.mark.parametrize(
    "line",
    [
        "kept.append(token_emb(x[0]))",
        "kept.append([0] * 9)",
        "kept.append(str(len(kept)) * 1000)",
        "kept.append(torch.zeros(300))",
        "kept.append(set(range(9)))",
    ],
    ids=["small tensors", "lists", "texts", "larger tensors", "sets"],
)
def test_student_is_told_which_loop_has_filled_the_memory(grade: Grade, solution: str, line: str) -> None:
    """What is left when all is used up is enough to say so, and after it for the other trials."""
    report = grade(f"{solution}kept = []\ni = 0\nwhile i < 5:\n    {line}\n")
    assert report.verdict is Verdict.MEMORY_LIMIT
    assert report.error is not None
    assert report.error.line == 9
    assert "the loop on line 8" in report.error.explanation
    assert "`i`" in report.error.explanation


MAP = (
    "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
    "def mapped(kind, size=2**20, fd=-1):\n"
    "    address = libc.mmap(None, ctypes.c_size_t(size), 3, kind, fd, ctypes.c_long(0))\n"
    "    return None if address == ctypes.c_void_p(-1).value else address\n"
)


@pytest.mark.parametrize("kind", ["0x21", "0x23", "0x4021", "0x8021", "0x40021"])
def test_student_cannot_map_shared_memory_without_a_name(run: Run, kind: str) -> None:
    """It would stay when all but a page is unmapped, in no limit and seen by nobody: not by any flag beside it."""
    assert run(f"{MAP}print(mapped({kind}))").output == "None\n"


def test_student_cannot_map_the_zero_device_shared(run: Run) -> None:
    """That is the same memory by another name."""
    report = run("import mmap\nmmap.mmap(open('/dev/zero', 'r+b').fileno(), 2**20)")
    assert report.error is not None
    assert report.error.type in ("PermissionError", "FileNotFoundError")


def test_memory_that_is_honest_is_mapped(run: Run) -> None:
    """Private maps, maps of files and a shared page all work."""
    code = (
        "import mmap\nmmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)[5] = 1\n"
        "mmap.mmap(-1, 4096)[5] = 1\n"
        "f = open('f', 'w+b')\nf.truncate(2**20)\nm = mmap.mmap(f.fileno(), 0)\nm[5] = 1\nprint(m[5])"
    )
    assert run(code).output == "1\n"


def test_student_cannot_start_thousands_of_threads(run: Run) -> None:
    """Their number is bounded, and the attempt is the student's own error."""
    start = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    report = run(f"import threading, time\nfor n in range(5000): {start}")
    assert report.verdict in (Verdict.ERROR, Verdict.MEMORY_LIMIT)


def test_student_cannot_open_thousands_of_files(run: Run) -> None:
    """Descriptors are bounded."""
    assert run("keep = [open('/dev/null') for _ in range(5000)]").verdict is Verdict.ERROR


def test_student_cannot_fill_the_disk_with_one_file(run: Run) -> None:
    """A file has a largest size."""
    assert run("f = open('big', 'wb')\nwhile True: f.write(b'x' * 2**20)").verdict in (Verdict.ERROR, Verdict.CRASHED)


def test_student_cannot_fill_the_disk_with_many_files(run: Run) -> None:
    """All files together have a largest size."""
    code = "n = 0\nwhile True:\n    open(f'f{n}', 'wb').write(b'x' * 2**23)\n    n += 1"
    assert run(code).verdict is Verdict.OUTPUT_LIMIT


def test_student_cannot_use_up_the_inodes(run: Run) -> None:
    """Nor may there be endlessly many empty ones."""
    code = "n = 0\nwhile True:\n    open(f'f{n}', 'w').close()\n    n += 1"
    assert run(code).verdict is Verdict.OUTPUT_LIMIT


@pytest.mark.parametrize("stream", ["1", "2"])
def test_student_cannot_flood_the_output(run: Run, stream: str) -> None:
    """A gigabyte of printing is cut early, and little of it is kept."""
    report = run(f"import os\nfor _ in range(2**14): os.write({stream}, b'x' * 2**16)")
    assert report.verdict is Verdict.OUTPUT_LIMIT
    assert len(report.output) <= 64 * 1024


def test_student_cannot_overflow_the_stack_of_anyone_else(run: Run) -> None:
    """A stack overflow in C ends its own process."""
    code = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())"
    assert run(code).verdict in (Verdict.CRASHED, Verdict.ERROR)


@pytest.mark.parametrize(
    "code",
    ["x = " + "+".join(["1"] * 20000), "x = " + "(" * 5000, "x = 'a'" + ".real" * 9000, "x" * 60000, "#" * 65000],
    ids=["a sum", "brackets", "attributes", "a name", "a comment"],
)
def test_student_cannot_bring_the_parser_down(run: Run, code: str) -> None:
    """CodeCache that are hard to parse end in a verdict."""
    assert run(code).verdict in (Verdict.PASSED, Verdict.ERROR, Verdict.CRASHED)


def test_student_cannot_dump_core(run: Run) -> None:
    """A crash leaves no file behind."""
    before = set(Path.cwd().iterdir())
    report = run("import ctypes, resource\nctypes.string_at(0)")
    assert report.verdict is Verdict.CRASHED
    assert set(Path.cwd().iterdir()) == before
