"""A student's process cannot reach anything but its own folder and its own memory."""

from collections.abc import Callable

import pytest

from graders.report import Report, Verdict

Denied = Callable[[str], None]
Run = Callable[[str], Report]
SYSCALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def syscall(*numbers):
    result = libc.syscall(*[ctypes.c_long(n) for n in numbers])
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""


@pytest.mark.parametrize(
    "family", ["AF_INET, SOCK_STREAM", "AF_INET6, SOCK_DGRAM", "AF_UNIX, SOCK_STREAM", "AF_NETLINK, SOCK_RAW"]
)
def test_student_cannot_open_a_socket(denied: Denied, family: str) -> None:
    """No family of sockets can be opened: internet, Unix, netlink."""
    denied(f"from socket import *\nsocket({family})")


@pytest.mark.parametrize(
    "kind",
    ["AF_UNIX, SOCK_DGRAM", "AF_UNIX, SOCK_SEQPACKET", "AF_INET, SOCK_STREAM", "AF_NETLINK, SOCK_RAW", "AF_TIPC, 1"],
)
def test_student_cannot_open_a_pair_of_sockets_that_leaves(denied: Denied, kind: str) -> None:
    """The pair that an event loop wakes itself by is a stream between its own two ends; no other can be had."""
    denied(f"from socket import *\nsocketpair({kind})")


@pytest.mark.parametrize(
    "action",
    [
        "a.connect('/dev/log')",
        "a.bind('here')",
        "a.listen()",
        "a.accept()",
        "a.sendto(b'x', '/dev/log')",
        "send_fds(a, [b'x'], [0])",
        "recv_fds(b, 1, 1)",
        "a.sendmsg([b'x'])",
        "a.setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 30)",
        "a.getsockopt(SOL_SOCKET, 77, 4)",
        "a.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)",
    ],
)
def test_student_cannot_lead_a_pair_of_sockets_anywhere(run: Run, action: str) -> None:
    """It cannot be given an address, nor pass descriptors on, nor grow, nor tell of processes: not even be asked to."""
    report = run(f"from socket import *\na, b = socketpair()\nb.send(b'x')\n{action}")
    assert report.error is not None
    assert report.error.type == "PermissionError"


def test_student_cannot_resolve_a_name(denied: Denied) -> None:
    """Looking a host up needs a socket, and so fails."""
    denied("import socket\nif socket.gethostbyname('localhost'): raise SystemExit")


def test_student_cannot_fork(denied: Denied) -> None:
    """A run stays one process."""
    denied("import os\nos.fork()")


def test_student_cannot_vfork_by_number(denied: Denied) -> None:
    """Nor by the bare system call."""
    denied(SYSCALL + "syscall(58)")


def test_student_cannot_clone_a_process(denied: Denied) -> None:
    """Clone without CLONE_THREAD is refused, and clone3 is not there."""
    denied(SYSCALL + "syscall(56, 17, 0, 0, 0, 0)")
    denied(SYSCALL + "syscall(435, 0, 0)")


def test_student_cannot_exec(denied: Denied) -> None:
    """No other program takes the process over."""
    denied("import os\nos.execv('/bin/true', ['true'])")


def test_student_cannot_start_a_subprocess(denied: Denied) -> None:
    """Nor beside it."""
    denied("import subprocess\nsubprocess.run(['/bin/true'], check=True)")


def test_student_cannot_spawn_workers(denied: Denied) -> None:
    """Multiprocessing has no process to work with."""
    denied("import multiprocessing\nmultiprocessing.Process(target=print).start()")


def test_student_cannot_exec_from_memory(denied: Denied) -> None:
    """A program in a memory file cannot even be stored."""
    denied("import os\nos.memfd_create('program')")


def test_student_cannot_trace(denied: Denied) -> None:
    """Ptrace is refused, for oneself and for others."""
    denied(SYSCALL + "syscall(101, 0)")
    denied(SYSCALL + "import os\nsyscall(101, 16, os.getppid(), 0, 0)")


def test_student_cannot_read_another_memory(denied: Denied) -> None:
    """process_vm_readv and its twin are refused."""
    denied(SYSCALL + "import os\nsyscall(310, os.getppid(), 0, 0, 0, 0, 0)")
    denied(SYSCALL + "import os\nsyscall(311, os.getppid(), 0, 0, 0, 0, 0)")


def test_student_cannot_take_anothers_descriptor(denied: Denied) -> None:
    """pidfd_open and pidfd_getfd are refused."""
    denied("import os\nos.pidfd_open(os.getppid())")
    denied(SYSCALL + "syscall(438, 3, 0, 0)")


@pytest.mark.parametrize("target", ["os.getppid()", "-1", "0", "1", "-os.getpgrp()"])
def test_student_cannot_signal_others(denied: Denied, target: str) -> None:
    """Neither its parent, nor everyone, nor a group."""
    denied(f"import os, signal\nos.kill({target}, signal.SIGKILL)")


def test_student_cannot_use_io_uring(denied: Denied) -> None:
    """The second way round seccomp is shut."""
    denied(SYSCALL + "syscall(425, 1, 0)")


def test_student_cannot_load_bpf(denied: Denied) -> None:
    """Bpf and perf_event_open are refused."""
    denied(SYSCALL + "syscall(321, 0, 0, 0)")
    denied(SYSCALL + "syscall(298, 0, 0, 0, 0, 0)")


def test_student_cannot_use_kernel_keys(denied: Denied) -> None:
    """add_key, request_key and keyctl are refused."""
    for number in (248, 249, 250):
        denied(SYSCALL + f"syscall({number}, 0, 0, 0, 0)")


def test_student_cannot_watch_page_faults(denied: Denied) -> None:
    """Userfaultfd is refused."""
    denied(SYSCALL + "syscall(323, 0)")


@pytest.mark.parametrize("flag", [0x10000000, 0x00020000, 0x20000000, 0x40000000])
def test_student_cannot_make_a_namespace(denied: Denied, flag: int) -> None:
    """Unshare is refused for users, mounts, processes and networks."""
    denied(SYSCALL + f"syscall(272, {flag})")


def test_student_cannot_mount(denied: Denied) -> None:
    """Neither the old way nor the new."""
    for number in (165, 166, 155, 428, 429, 430, 442):
        denied(SYSCALL + f"syscall({number}, 0, 0, 0, 0, 0)")


def test_student_cannot_change_root(denied: Denied) -> None:
    """Chroot is refused."""
    denied("import os\nos.chroot('.')")


def test_student_cannot_become_another_user(denied: Denied) -> None:
    """The setuid family is refused."""
    denied("import os\nos.setuid(0)")
    denied("import os\nos.setresgid(0, 0, 0)")


def test_student_cannot_share_memory_by_name(denied: Denied) -> None:
    """Neither System V nor POSIX shared memory, queues or semaphores."""
    for number in (29, 64, 68, 240):
        denied(SYSCALL + f"syscall({number}, 1, 4096, 0o1600, 0)")
    denied("from multiprocessing import shared_memory\nshared_memory.SharedMemory(create=True, size=16)")


def test_student_cannot_call_through_the_32_bit_table(run: Run) -> None:
    """Int 0x80 ends the process."""
    code = (
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n"
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print('pid', ctypes.CFUNCTYPE(ctypes.c_int)(address)())\n"
    )
    report = run(code)
    assert report.verdict is Verdict.CRASHED
    assert "pid" not in report.output


def test_student_cannot_call_through_the_x32_table(run: Run) -> None:
    """A number with the x32 bit is not let through."""
    report = run(SYSCALL + "syscall(0x40000000 + 41, 2, 1, 0)\nprint('open')")
    assert "open" not in report.output


@pytest.mark.parametrize("path", ["/", "/etc", "/home", "/root", "/var", "/dev", "/sys"])
def test_student_cannot_list_a_folder(denied: Denied, path: str) -> None:
    """Folders outside its own are closed."""
    denied(f"import os\nos.listdir({path!r})")


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/hostname", "/proc/1/environ", "/proc/kcore", "/dev/mem"])
def test_student_cannot_read_a_file(denied: Denied, path: str) -> None:
    """Files outside Python's and its own are closed."""
    denied(f"open({path!r}, 'rb').read(1)")


def test_student_cannot_read_the_project(denied: Denied) -> None:
    """Neither code nor exercises nor tests."""
    denied(f"open({__file__!r}).read()")


@pytest.mark.parametrize("path", ["/tmp/x", "/dev/shm/x", "/var/tmp/x", "/usr/x"])  # noqa: S108  to be refused
def test_student_cannot_write_outside_its_folder(denied: Denied, path: str) -> None:
    """Nothing else is writable."""
    denied(f"open({path!r}, 'w')")


def test_student_cannot_change_pythons_files(denied: Denied) -> None:
    """The interpreter's and torch's files are read-only."""
    denied("import os\nopen(os.__file__, 'a')")
    denied("import torch\nopen(torch.__file__, 'r+')")


@pytest.mark.parametrize(
    "code",
    [
        "os.symlink('/etc/passwd', 'a')",
        "os.link(os.__file__, 'a')",
        "os.mkfifo('a')",
        "os.mknod('a', 0o020666, os.makedev(1, 5))",
    ],
)
def test_student_cannot_leave_anything_but_files(denied: Denied, code: str) -> None:
    """No link, pipe or device can be made that would lead whoever cleans up elsewhere."""
    denied(f"import os\n{code}")


def test_student_cannot_give_files_another_mode(denied: Denied) -> None:
    """Chmod and chown are refused."""
    denied("import os\nopen('a', 'w').close()\nos.chmod('a', 0o4777)")
    denied("import os\nopen('a', 'w').close()\nos.chown('a', 0, 0)")


def test_student_cannot_use_terminals(denied: Denied) -> None:
    """Ioctl knows only harmless questions."""
    denied("import fcntl\nfcntl.ioctl(0, 0x5412, b'x')")
