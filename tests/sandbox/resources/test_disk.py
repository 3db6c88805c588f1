"""A student's process cannot write more than its share, however it hides what it writes, and nothing of it stays."""

from collections.abc import Callable

import pytest

from graders.grader import Grader
from graders.report import Report, Verdict
from graders.task import Task

Run = Callable[[str], Report]
SHARE_MIB = 64
BEGIN = "import os, mmap\nkeep, n, block = [], 0, b'x' * 2**20\n"
HIDDEN = {
    "deeper than any path": (
        "for _ in range(18):\n    os.mkdir('d' * 250); os.chdir('d' * 250)\n"
        "while n < 1000:\n    open(f'f{n}', 'wb').write(block); n += 1; os.write(1, b'%d\\n' % n)\n"
    ),
    "in a thousand folders": (
        "while n < 1000:\n    os.mkdir('d'); os.chdir('d')\n"
        "    open('f', 'wb').write(block); n += 1; os.write(1, b'%d\\n' % n)\n"
    ),
    "without a name, by a map of one page": (
        "while n < 1000:\n    f = open('f', 'w+b')\n    for _ in range(8): f.write(block); n += 1\n    f.flush()\n"
        "    os.unlink('f'); keep.append(mmap.mmap(f.fileno(), 4096)); f.close(); os.write(1, b'%d\\n' % n)\n"
    ),
    "without a name, written through maps": (
        "while n < 1000:\n    f = open('f', 'w+b'); f.truncate(2**23); whole = mmap.mmap(f.fileno(), 0)\n"
        "    for place in range(0, 2**23, 4096): whole[place] = 1\n"
        "    keep.append(mmap.mmap(f.fileno(), 4096)); whole.close(); os.unlink('f'); f.close()\n"
        "    n += 8; os.write(1, b'%d\\n' % n)\n"
    ),
    "without a name, by a private map": (
        "while n < 1000:\n    f = open('f', 'w+b')\n    for _ in range(8): f.write(block); n += 1\n    f.flush()\n"
        "    keep.append(mmap.mmap(f.fileno(), 4096, flags=mmap.MAP_PRIVATE)); os.unlink('f'); f.close()\n"
        "    os.write(1, b'%d\\n' % n)\n"
    ),
    "without a name, open": (
        "while n < 1000:\n    f = os.open('f', os.O_RDWR | os.O_CREAT)\n"
        "    for _ in range(8): os.write(f, block); n += 1\n"
        "    os.unlink('f'); keep.append(f); os.write(1, b'%d\\n' % n)\n"
    ),
    "that never had a name": (
        "while n < 1000:\n    f = os.open('.', os.O_RDWR | os.O_TMPFILE)\n"
        "    for _ in range(8): os.write(f, block); n += 1\n    keep.append(f); os.write(1, b'%d\\n' % n)\n"
    ),
    "in a folder that is closed": (
        "os.mkdir('d', 0o300); os.chdir('d')\n"
        "while n < 1000:\n    open(f'f{n}', 'wb').write(block); n += 1; os.write(1, b'%d\\n' % n)\n"
    ),
    "in files that are closed": (
        "os.umask(0o777)\n"
        "while n < 1000:\n    f = os.open(f'f{n}', os.O_WRONLY | os.O_CREAT, 0)\n    os.write(f, block)\n"
        "    os.close(f); n += 1; os.write(1, b'%d\\n' % n)\n"
    ),
    "over others, with their names": (
        "while n < 1000:\n    f = os.open(f'f{n % 2}', os.O_RDWR | os.O_CREAT)\n"
        "    for _ in range(8): os.write(f, block); n += 1\n"
        "    keep.append(f); os.rename(f'f{n % 2}', 'g'); os.write(1, b'%d\\n' % n)\n"
    ),
}


ENDS_BY_ITSELF = HIDDEN["without a name, written through maps"]


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN)
def test_student_cannot_write_more_than_its_share(run: Run, code: str) -> None:
    """
    Named or nameless, deep or closed: it is the run's, and the run ends of it, with what it printed.

    Whoever writes through a map where there is no room is killed by the kernel, and where the file has no name its room
    is free again with that: on a busy machine nobody may have seen that it was full.
    """
    report = run(BEGIN + code)
    assert report.verdict in {Verdict.OUTPUT_LIMIT, *([Verdict.CRASHED] if code == ENDS_BY_ITSELF else [])}
    if sized(run):
        assert int((report.output.split() or ["0"])[-1]) <= SHARE_MIB


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN)
def test_student_cannot_hide_what_it_wrote_by_catching_the_refusal(run: Run, code: str) -> None:
    """A program that goes on when there is no room has filled its share; what the kernel kills goes on nowhere."""
    indented = "".join(f"    {line}\n" for line in code.splitlines())
    report = run(f"{BEGIN}try:\n{indented}except OSError: pass\n")
    assert report.verdict in {Verdict.OUTPUT_LIMIT, *([Verdict.CRASHED] if code == ENDS_BY_ITSELF else [])}


def sized(run: Run) -> bool:
    """Have runs a file system of their own here?"""
    return run("import os\nprint(os.statvfs('.').f_files)").output == "1001\n"


def test_student_cannot_make_more_files_than_its_share(run: Run) -> None:
    """Empty ones count as well, folders as files."""
    report = run("import os\nfor n in range(5000): os.mkdir(str(n)) if n % 2 else open(str(n), 'w').close()")
    assert report.verdict is Verdict.OUTPUT_LIMIT


def test_run_that_was_forked_ahead_finds_its_share(grader: Grader, task: Task) -> None:
    """What one run has filled is missing to no other, and is gone before the next one looks."""
    fill = f"{BEGIN}while n < 1000:\n    open(f'f{{n}}', 'wb').write(block); n += 1\n"
    half = "for n in range(48): open(f'f{n}', 'wb').write(bytes(2**20))\nimport os\nprint(len(os.listdir('.')))"
    for _ in range(2):
        grader.prepare(task.limits)
        assert grader.execute(task, fill).verdict is Verdict.OUTPUT_LIMIT
        grader.prepare(task.limits)
        assert grader.execute(task, half).output == "48\n"


def test_what_is_written_and_removed_again_is_not_counted(run: Run) -> None:
    """The share is of what is there, not of all that ever was."""
    code = "import os\nfor n in range(30):\n    open('f', 'wb').write(bytes(2**23))\n    os.remove('f')\nprint('done')"
    report = run(code)
    assert report.verdict is Verdict.PASSED
    assert report.output == "done\n"


def test_nameless_file_within_the_share_is_fine(run: Run) -> None:
    """Temporary files are made so."""
    code = "import tempfile\nf = tempfile.TemporaryFile()\nf.write(bytes(2**20))\nf.seek(0)\nprint(len(f.read()))"
    report = run(code)
    assert report.verdict is Verdict.PASSED
    assert report.output == f"{2**20}\n"
