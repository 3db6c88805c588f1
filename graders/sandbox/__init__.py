"""
The walls round a run.

Theory of operation
===================

Two warm processes ("zygotes", `graders.zygote`) have torch imported, an empty environment, one
thread and no secret. The trusted parent asks one of them for a fork over a socket; the fork raises
its own walls (`graders.sandbox.walls`) before it reads a byte of what it is to run, and can never
lower them again. What stops what:

==================  ==========================================================================
no_new_privs        a set-uid program or file capability that gives rights back
seccomp             sockets, exec, new processes, ptrace, other processes' memory, io_uring, bpf,
                    keyrings, mounts, namespaces, shared memory, the 32-bit and x32 tables
Landlock            files: read Python and torch, write one scratch folder, nothing else; TCP and
                    abstract sockets where the kernel can
rlimits             endless CPU, big files, many descriptors, cores, the heap
wall time, memory   kept by the parent, which a run cannot reach: it kills by pidfd
one pipe, capped    the only way out; lengths are checked before anything is read
PDEATHSIG           a run whose warm process or worker died
==================  ==========================================================================

Seccomp forbids new processes, so a run is exactly one process and killing it kills all of it.
Landlock refuses /proc, so it cannot read others of its uid; seccomp refuses signals to others.
Why not fewer: seccomp cannot look at paths, Landlock cannot stop ioctl, signals or CPU, rlimits
count per process and not per deed, and none of them bounds wall time.
"""
