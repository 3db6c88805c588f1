"""
The list of system calls, compiled: by libseccomp, in the trusted parent, which hands warm processes the program.

So no warm process needs libseccomp, nor the means of finding it, in its world.
"""

import errno
import tempfile
from functools import lru_cache

import pyseccomp

from graders.sandbox.seccomp import OWN_PID

_CLONE_THREAD = 0x00010000
_FORK_FLAGS = (17, 0x01200011)  # SIGCHLD, as any fork; with glibc's two ways to have the child's id noted
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP = 1, 22

FILES = (
    "read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "close_range",
    "open", "openat", "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getcwd", "getdents64", "chdir", "mkdir", "mkdirat", "unlink", "unlinkat",
    "rmdir", "rename", "renameat", "renameat2", "ftruncate", "truncate", "fsync", "fdatasync", "umask",
    "dup", "dup2", "dup3", "pipe2", "poll", "ppoll", "select", "pselect6", "fadvise64", "statfs", "fstatfs",
)  # fmt: skip
MEMORY = ("munmap", "mprotect", "mremap", "madvise", "brk", "membarrier", "mincore")
THREADS = (
    "futex", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "arch_prctl", "sched_yield",
    "sched_getaffinity", "sched_getparam", "sched_getscheduler", "exit", "exit_group", "restart_syscall",
)  # fmt: skip
TIME = (
    "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times",
    "setitimer", "getitimer", "alarm", "pause",
)  # fmt: skip
PROCESS_INFO = (
    "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgrp", "getsid",
    "uname", "sysinfo", "getrusage", "getrandom", "getrlimit", "getpriority", "getcpu", "capget",
)  # fmt: skip
# What an event loop needs: waiting for descriptors, and a pair of sockets to wake itself up by. Of a pair both ends are
# this process's own, and so is all that can be done with one: nothing here connects, binds, names another address, or
# sends a descriptor.
EVENTS = ("epoll_create1", "epoll_create", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2")
PAIRS = ("recvfrom", "shutdown", "getsockname", "getpeername")
SIGNALS = ("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigaltstack")

_TCGETS, _FIOCLEX, _FIONCLEX, _FIONREAD, _FIONBIO = 0x5401, 0x5451, 0x5450, 0x541B, 0x5421
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)  # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC: no locks, no SETOWN
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE, _SOL_SOCKET = 1, 1, 0xF, 1
_SOCKET_OPTIONS = (3, 4, 7, 8, 30, 38, 39)  # SO_TYPE, ERROR, SNDBUF, RCVBUF, ACCEPTCONN, PROTOCOL, DOMAIN
_MAP_PRIVATE, _MAP_SHARED, _MAP_KIND, _MAP_ANONYMOUS = 2, 1, 0xF, 0x20
_PAGE_BYTES = 4096
_PR_SET_NAME, _PR_GET_NAME, _PR_GET_NO_NEW_PRIVS = 15, 16, 39


@lru_cache(maxsize=2)
def compile_filter(*, forks: bool = False) -> bytes:
    """
    The list as a BPF program, for any run to load.

    Args:
        forks: for a process of ours that makes runs by forking itself, each of which then loads the narrow list.

    Raises:
        OSError: libseccomp is missing or too old.
    """
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in (*FILES, *MEMORY, *THREADS, *TIME, *PROCESS_INFO, *EVENTS, *PAIRS, *SIGNALS):
        rules.add_rule(pyseccomp.ALLOW, name)
    _allow_when_narrow(rules, own_pid_only=not forks)
    if forks:
        _allow_forks(rules)
    _allow_pairs(rules)
    _allow_maps(rules)
    # glibc falls back to clone on ENOSYS; clone3 hides its flags in memory, which seccomp cannot read
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    with tempfile.TemporaryFile() as program:
        rules.export_bpf(program)
        program.seek(0)
        return program.read()


def _allow_forks(rules: pyseccomp.SyscallFilter) -> None:
    """A child that is a process of its own, in no namespace of its own; its walls, its descriptors and its end."""
    for name in ("wait4", "pidfd_open", "sendmsg", "recvmsg", "setpgid"):
        rules.add_rule(pyseccomp.ALLOW, name)
    for flags in _FORK_FLAGS:
        rules.add_rule(pyseccomp.ALLOW, "clone", pyseccomp.Arg(0, pyseccomp.EQ, flags))
    for option in (_PR_SET_PDEATHSIG, _PR_SET_SECCOMP):
        rules.add_rule(pyseccomp.ALLOW, "prctl", pyseccomp.Arg(0, pyseccomp.EQ, option))


def _allow_when_narrow(rules: pyseccomp.SyscallFilter, *, own_pid_only: bool) -> None:
    """The calls that are allowed with some arguments only."""
    equal, masked = pyseccomp.EQ, pyseccomp.MASKED_EQ
    rules.add_rule(pyseccomp.ALLOW, "clone", pyseccomp.Arg(0, masked, _CLONE_THREAD, _CLONE_THREAD))
    for signal_call in ("kill", "tgkill"):  # whoever forks leaves it to the fork's own list, as its id is not known yet
        only = [pyseccomp.Arg(0, equal, OWN_PID)] if own_pid_only else []
        rules.add_rule(pyseccomp.ALLOW, signal_call, *only)
    for request in (_TCGETS, _FIOCLEX, _FIONCLEX, _FIONREAD, _FIONBIO):
        rules.add_rule(pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, equal, request))
    for command in _FCNTL_COMMANDS:
        rules.add_rule(pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, equal, command))
    for option in (_PR_SET_NAME, _PR_GET_NAME, _PR_GET_NO_NEW_PRIVS):
        rules.add_rule(pyseccomp.ALLOW, "prctl", pyseccomp.Arg(0, equal, option))
    # reading a limit is harmless; setting one, or another process's, is not
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(0, equal, 0), pyseccomp.Arg(2, equal, 0))


def _allow_pairs(rules: pyseccomp.SyscallFilter) -> None:
    """A stream between two ends of one's own. A datagram socket is none: it could be sent from to any address."""
    equal, masked = pyseccomp.EQ, pyseccomp.MASKED_EQ
    kind = (pyseccomp.Arg(0, equal, _AF_UNIX), pyseccomp.Arg(1, masked, _SOCK_TYPE, _SOCK_STREAM))
    rules.add_rule(pyseccomp.ALLOW, "socketpair", *kind)
    rules.add_rule(pyseccomp.ALLOW, "sendto", pyseccomp.Arg(4, equal, 0))  # without an address
    for fact in _SOCKET_OPTIONS:
        rules.add_rule(
            pyseccomp.ALLOW, "getsockopt", pyseccomp.Arg(1, equal, _SOL_SOCKET), pyseccomp.Arg(2, equal, fact)
        )


def _allow_maps(rules: pyseccomp.SyscallFilter) -> None:
    """
    Memory of one's own, and files; of what is shared without a file, a page at a time.

    Such memory is a nameless file of the kernel's: it stays as long as one page of it is mapped, is in no limit on
    data, and is out of sight from outside as soon as the rest is unmapped. Of one page there is no rest.
    """
    masked = pyseccomp.MASKED_EQ
    shared, nameless = _MAP_SHARED, _MAP_SHARED | _MAP_ANONYMOUS
    rules.add_rule(pyseccomp.ALLOW, "mmap", pyseccomp.Arg(3, masked, _MAP_KIND, _MAP_PRIVATE))
    rules.add_rule(pyseccomp.ALLOW, "mmap", pyseccomp.Arg(3, masked, _MAP_KIND | _MAP_ANONYMOUS, shared))
    page = pyseccomp.Arg(1, pyseccomp.LE, _PAGE_BYTES)
    rules.add_rule(pyseccomp.ALLOW, "mmap", page, pyseccomp.Arg(3, masked, _MAP_KIND | _MAP_ANONYMOUS, nameless))
    more = pyseccomp.Arg(1, pyseccomp.GT, _PAGE_BYTES)
    refusal = pyseccomp.ERRNO(errno.ENOMEM)  # what a program that asks for memory understands
    rules.add_rule(refusal, "mmap", more, pyseccomp.Arg(3, masked, _MAP_KIND | _MAP_ANONYMOUS, nameless))
