"""
Do the walls hold on this machine? Not looked up but tried: a real run attempts each forbidden deed.

The attempts are written as a student would write them. Each prints one line: `held` if it was refused, `open` if
it got through.
"""

from dataclasses import dataclass

from graders.grader import Grader
from graders.sandbox import bubblewrap, landlock
from graders.sandbox.identity import uid_for
from graders.task import Check, Limits, Output, Task


@dataclass(frozen=True)
class Attempt:
    """A deed that a wall must prevent."""

    wall: str
    deed: str
    code: str  # lines; raising or setting `refused` to a true value means that it was prevented


@dataclass(frozen=True)
class Finding:
    """How a wall did."""

    wall: str
    deed: str
    state: str  # holds | missing | not needed
    why: str = ""


_PAIRS = """
import socket
refused = True
for family, kind in ((1, 2), (1, 5), (2, 1), (10, 1), (16, 3), (30, 1), (40, 1)):
    try:
        socket.socketpair(family, kind)
        refused = False
    except OSError:
        pass
"""
ATTEMPTS = (
    Attempt("descriptors", "find more than its own", "refused = not [fd for fd in range(5, 64) if exists(fd)]"),
    Attempt("no_new_privs", "gain rights by exec", "refused = _libc.prctl(39, 0, 0, 0, 0) == 1"),
    Attempt("seccomp", "open a socket", "import socket; socket.socket()"),
    Attempt("seccomp", "open a pair of sockets that can be led elsewhere", _PAIRS),
    Attempt(
        "seccomp", "pass a descriptor on", "import socket; a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [0])"
    ),
    Attempt("seccomp", "hold memory that no limit counts", "import mmap; mmap.mmap(-1, 2**20)"),
    Attempt("seccomp", "start a program", "import os; os.execv('/bin/true', ['true'])"),
    Attempt("seccomp", "make a process", "import os; refused = os.fork() and False"),
    Attempt("seccomp", "trace a process", "syscall(101, 0)"),
    Attempt("seccomp", "use io_uring", "syscall(425, 1, 0)"),
    Attempt("seccomp", "load BPF", "syscall(321, 0, 0, 0)"),
    Attempt("seccomp", "make a namespace", "syscall(272, 0x10000000)"),
    Attempt("seccomp", "mount", "syscall(165, 0, 0, 0, 0, 0)"),
    Attempt("seccomp", "use kernel keys", "syscall(250, 0, -3, 0)"),
    Attempt("seccomp", "share memory by name", "syscall(29, 1, 4096, 0o1600)"),
    Attempt("seccomp", "make a memory file", "import os; os.memfd_create('x')"),
    Attempt("seccomp", "signal the warm process", "import os; os.kill(os.getppid(), 0)"),
    Attempt("seccomp", "raise its own limits", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 64))"),
    Attempt("Landlock", "list the root folder", "import os; os.listdir('/')"),
    Attempt("Landlock", "read what is in /etc", "open('/etc/passwd').read()"),
    Attempt("Landlock", "write outside its folder", "open('/tmp/kelolo-proof', 'w')"),
    Attempt("Landlock", "write into Python's files", "import os; open(os.__file__, 'a')"),
    Attempt("Landlock", "leave a link", "import os; os.symlink('/etc/passwd', 'link')"),
    Attempt("rlimits", "take 100 GB", "import torch; torch.empty(25 * 10**9)"),
    Attempt("rlimits", "write a file of 1 GB", "f = open('big', 'wb'); f.truncate(10**9)"),
    Attempt("rlimits", "open 1000 files", "held_open = [open('/dev/null') for _ in range(1000)]"),
    Attempt("rlimits", "dump core", "import resource; refused = resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)"),
    Attempt("user", "be root", "import os; refused = os.getuid() != 0"),
    Attempt("capabilities", "hold any but reading", "refused = capabilities() in (0, 4)"),
    Attempt("environment", "see ours", "import os; refused = not any('KELOLO' in name for name in os.environ)"),
    Attempt("namespaces", "be in the machine's process namespace", "import os; refused = os.getppid() in (1, 2, 3)"),
)

_BEGIN = """
import ctypes, os
_libc = ctypes.CDLL(None, use_errno=True)

def syscall(*numbers):
    if _libc.syscall(*[ctypes.c_long(n) for n in numbers]) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def capabilities():
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _libc.syscall(ctypes.c_long(125), header, sets)
    return sets[0] | sets[1] | sets[2] | sets[3] | sets[4] | sets[5]

def exists(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
"""
_EACH = """
refused = False
try:
    exec({code!r})
except BaseException:
    refused = True
print("{number}", "held" if refused else "open", flush=True)
"""
_TASK = Task(
    exercise="walls",
    version=0,
    setup="",
    solution="x = 0",
    outputs=(Output("x", "value"),),
    checks=(Check("x", "x", "equal", of="x", given=((),)),),
    limits=Limits(wall_time_s=20.0),
)


def prove(grader: Grader) -> list[Finding]:
    """
    Try every deed in a real run.

    Raises:
        GraderFault: a run cannot be started at all.
    """
    source = _BEGIN + "".join(_EACH.format(code=one.code, number=number) for number, one in enumerate(ATTEMPTS))
    said = dict(line.split() for line in grader.run(_TASK, source).output.splitlines() if line.count(" ") == 1)
    return [_finding(one, said.get(str(number), "open"), grader) for number, one in enumerate(ATTEMPTS)]


def _finding(attempt: Attempt, said: str, grader: Grader) -> Finding:
    if said == "held":
        return Finding(attempt.wall, attempt.deed, "holds", _about(attempt.wall))
    excuse = _excuse(attempt.wall, grader)
    return Finding(attempt.wall, attempt.deed, "not needed" if excuse else "missing", excuse or "It got through.")


def _about(wall: str) -> str:
    return f"interface {landlock.version()}" if wall == "Landlock" else ""


def _excuse(wall: str, grader: Grader) -> str:
    """Why a wall may be missing: the others do what it would do."""
    if wall == "namespaces" and not grader.in_namespaces:
        return f"an extra; {bubblewrap.unavailable() or 'switched off.'}"
    if wall == "user" and uid_for(0) is None:
        return "only root can give a run another user; seccomp and Landlock keep it from ours."
    return ""


def required_missing(findings: list[Finding]) -> list[Finding]:
    """The walls without which nobody's code may be run."""
    return [one for one in findings if one.state == "missing"]
