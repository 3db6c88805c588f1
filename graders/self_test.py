"""
Do the walls hold on this machine? Not looked up but tried: a real run tries each forbidden action.

The actions are written as a student would write them. Each prints one line: `held` if it was refused, `open` if
it got through.
"""

from dataclasses import dataclass

from graders.grader import Grader
from graders.sandbox import bubblewrap, landlock
from graders.sandbox.identity import uid_for
from graders.task import Check, Limits, Output, Task


@dataclass(frozen=True)
class ForbiddenAction:
    """A action that a wall must prevent."""

    wall: str
    action: str
    code: str  # lines; raising or setting `refused` to a true value means that it was prevented


@dataclass(frozen=True)
class LayerResult:
    """How a wall did."""

    wall: str
    action: str
    state: str  # holds | missing | not needed
    why: str = ""

    def to_json(self) -> dict[str, str]:
        """The result as people read it who watch a site, and as the database keeps it."""
        return {"wall": self.wall, "deed": self.action, "state": self.state, "why": self.why}


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
# The child ends at once: it would try the remaining actions as well, and print between the lines of its parent.
_FORK = """
import os
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
FORBIDDEN_ACTIONS = (
    ForbiddenAction("descriptors", "find more than its own", "refused = not [fd for fd in range(5, 64) if exists(fd)]"),
    ForbiddenAction("no_new_privs", "gain rights by exec", "refused = _libc.prctl(39, 0, 0, 0, 0) == 1"),
    ForbiddenAction("seccomp", "open a socket", "import socket; socket.socket()"),
    ForbiddenAction("seccomp", "open a pair of sockets that can be led elsewhere", _PAIRS),
    ForbiddenAction(
        "seccomp", "pass a descriptor on", "import socket; a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [0])"
    ),
    ForbiddenAction("seccomp", "hold memory that no limit counts", "import mmap; mmap.mmap(-1, 2**20)"),
    ForbiddenAction("seccomp", "start a program", "import os; os.execv('/bin/true', ['true'])"),
    ForbiddenAction("seccomp", "make a process", _FORK),
    ForbiddenAction("seccomp", "trace a process", "syscall(101, 0)"),
    ForbiddenAction("seccomp", "use io_uring", "syscall(425, 1, 0)"),
    ForbiddenAction("seccomp", "load BPF", "syscall(321, 0, 0, 0)"),
    ForbiddenAction("seccomp", "make a namespace", "syscall(272, 0x10000000)"),
    ForbiddenAction("seccomp", "mount", "syscall(165, 0, 0, 0, 0, 0)"),
    ForbiddenAction("seccomp", "use kernel keys", "syscall(250, 0, -3, 0)"),
    ForbiddenAction("seccomp", "share memory by name", "syscall(29, 1, 4096, 0o1600)"),
    ForbiddenAction("seccomp", "make a memory file", "import os; os.memfd_create('x')"),
    ForbiddenAction("seccomp", "signal the warm process", "import os; os.kill(os.getppid(), 0)"),
    ForbiddenAction(
        "seccomp", "raise its own limits", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 64))"
    ),
    ForbiddenAction("Landlock", "list the root folder", "import os; os.listdir('/')"),
    ForbiddenAction("Landlock", "read what is in /etc", "open('/etc/passwd').read()"),
    ForbiddenAction("Landlock", "write outside its folder", "open('/tmp/kelolo-proof', 'w')"),
    ForbiddenAction("Landlock", "write into Python's files", "import os; open(os.__file__, 'a')"),
    ForbiddenAction("Landlock", "leave a link", "import os; os.symlink('/etc/passwd', 'link')"),
    ForbiddenAction("rlimits", "take 100 GB", "import torch; torch.empty(25 * 10**9)"),
    ForbiddenAction("rlimits", "write a file of 1 GB", "f = open('big', 'wb'); f.truncate(10**9)"),
    ForbiddenAction("rlimits", "open 1000 files", "held_open = [open('/dev/null') for _ in range(1000)]"),
    ForbiddenAction(
        "rlimits", "dump core", "import resource; refused = resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)"
    ),
    ForbiddenAction("user", "be root", "import os; refused = os.getuid() != 0"),
    ForbiddenAction("capabilities", "hold any but reading", "refused = capabilities() in (0, 4)"),
    ForbiddenAction("environment", "see ours", "import os; refused = not any('KELOLO' in name for name in os.environ)"),
    ForbiddenAction(
        "namespaces", "be in the machine's process namespace", "import os; refused = os.getppid() in (1, 2, 3)"
    ),
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


def run_self_test(grader: Grader) -> list[LayerResult]:
    """
    Try every action in a real run.

    Raises:
        GraderFault: a run cannot be started at all.
    """
    source = _BEGIN + "".join(
        _EACH.format(code=one.code, number=number) for number, one in enumerate(FORBIDDEN_ACTIONS)
    )
    lines = set(grader.execute(_TASK, source).output.splitlines())
    return [
        # What was said twice, cut off or not at all did not hold: where a wall is missing, the output may be anything.
        _layer_result(one, held=f"{number} held" in lines and f"{number} open" not in lines, grader=grader)
        for number, one in enumerate(FORBIDDEN_ACTIONS)
    ]


def _layer_result(action: ForbiddenAction, *, held: bool, grader: Grader) -> LayerResult:
    if held:
        return LayerResult(action.wall, action.action, "holds", _about(action.wall))
    excuse = _excuse(action.wall, grader)
    return LayerResult(action.wall, action.action, "not needed" if excuse else "missing", excuse or "It got through.")


def _about(wall: str) -> str:
    return f"interface {landlock.version()}" if wall == "Landlock" else ""


def _excuse(wall: str, grader: Grader) -> str:
    """Why a wall may be missing: the others do what it would do."""
    if wall == "namespaces" and not grader.in_namespaces:
        return f"an extra; {bubblewrap.unavailable() or 'switched off.'}"
    if wall == "user" and uid_for(0) is None:
        return "only root can give a run another user; seccomp and Landlock keep it from ours."
    return ""


def required_missing(results: list[LayerResult]) -> list[LayerResult]:
    """The walls without which nobody's code may be run."""
    return [one for one in results if one.state == "missing"]
