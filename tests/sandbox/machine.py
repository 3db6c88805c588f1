"""
Run a command as on another machine: one whose kernel refuses some system calls, or only pretends to do them.

    python machine.py '{"landlock_create_ruleset": 38}' COMMAND …

Each call is answered with the given error number at once; 0 says that all went well, and nothing was done.
`"docker"` instead of a table stands for what Docker's default profile refuses, by its documentation's list of
significant calls (docs.docker.com/engine/security/seccomp) and io_uring.
"""

import json
import os
import sys

import pyseccomp

EPERM, ENOSYS, PR_SET_SECCOMP = 1, 38, 22
NAMESPACES = 0x7E020080  # CLONE_NEWUSER and the like
DOCKER = (
    "acct", "add_key", "bpf", "delete_module", "finit_module", "init_module", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount",
    "move_mount", "fsmount", "fsopen", "open_tree", "mount_setattr", "move_pages", "name_to_handle_at", "nfsservctl",
    "open_by_handle_at", "perf_event_open", "personality", "pivot_root", "process_vm_readv", "process_vm_writev",
    "ptrace", "quotactl", "reboot", "request_key", "setns", "settimeofday", "swapoff", "swapon", "sysfs", "umount2",
    "unshare", "uselib", "userfaultfd", "ustat", "vhangup",
)  # fmt: skip


def main() -> None:
    """Put the filter in force, and become the command."""
    wanted, command = json.loads(sys.argv[1]), sys.argv[2:]
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refused = dict.fromkeys(DOCKER, EPERM) if wanted == "docker" else wanted
    if wanted == "docker":
        for bit in range(32):
            if NAMESPACES >> bit & 1:
                rules.add_rule(
                    pyseccomp.ERRNO(EPERM), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 1 << bit, 1 << bit)
                )
        rules.add_rule(pyseccomp.ERRNO(ENOSYS), "clone3")
    for name, error in refused.items():
        only = [pyseccomp.Arg(0, pyseccomp.EQ, PR_SET_SECCOMP)] if name == "prctl" else []
        rules.add_rule(pyseccomp.ERRNO(error), name, *only)
    rules.load()
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
