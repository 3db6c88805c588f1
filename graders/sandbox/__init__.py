"""
The walls round a run.

Theory of operation
===================

Processes. The trusted parent (a slot of the worker) has two warm processes ("zygotes",
`graders.zygote.__main__`), one for students' code and one for judges: torch imported, an empty environment,
one thread, no secret, and neither ever runs a student's or an author's line. For each submission
a fork of the first is made, mostly ahead of time; for each exercise one of the second, which opens it
and is forked again for each submission (`graders.pool.judge_pool`). A fork raises its walls
(`graders.sandbox.layers`), runs a sample of ours to touch the pages it will need
(`graders.student.warmup`), and only then reads its job. So a run can never lower what was there
before its first byte, and what a judge knows is not in any student's memory, not even as a page
shared with the parent.

Pipes. Parent and zygote speak over one socket, which every fork closes first. A run has five
descriptors (`descriptors`): /dev/null, one pipe for what it prints, one for its job, one for its
frames, and Landlock's rules until they are in force. Frames are bounded by their header before a
byte of them is read (`graders.protocol.frames`); what is inside is opened by the judge alone, behind its own
walls, and what the judge says is read field by field by the parent (`graders.grader`).

Code cache. An author's texts are compiled once, by a judge's run of its own that is given the exercise
and nothing else (`graders.judge.compilation`). The parent keeps what it hands over as bytes, and only
later runs of the same exercise open them, behind their walls: no warm process ever does, and a
student's run is sent no more than the starting code and the probe, which it has to run anyway.

Which wall stops what
---------------------

==================  ==========================================================================
no_new_privs        a set-uid program or file capability that gives rights back
seccomp             sockets (but a pair of one's own), exec, new processes, ptrace, other processes'
                    memory, io_uring, bpf, keyrings, mounts, namespaces, shared memory, the 32-bit and x32
                    tables, signals to anyone but itself, changes of limits
Landlock            files: read Python, torch and what it needs (`libraries`), write one scratch folder,
                    nothing else; no links, devices or sockets in it; TCP and abstract sockets where the kernel can
rlimits             endless CPU, big files, many descriptors, cores, the heap, threads (where it
                    has a user of its own)
identity            (root only) being the server's user, or another slot's; all capabilities but, where
                    Python lies in a closed folder, reading past permissions
bubblewrap          (where it can be had) seeing the machine at all: its processes, network, files
a tmpfs a run       (where mounting is allowed) files of more than 64 MiB, or more than 1000; else they are
                    counted by the outside watch (`disk`)
outside watch       time (computing, waiting), resident memory, files written, bytes printed:
                    kept by the parent, which a run cannot reach; it kills by pidfd
one pipe, capped    any other way out; the first complete frame of the right kind is the answer
PDEATHSIG           a run whose zygote or worker died
folders             what a run wrote: removed without following or trusting anything in it
==================  ==========================================================================

Seccomp forbids new processes, so a run is exactly one process and killing it kills all of it.
Landlock refuses /proc (but for its own world's, under bubblewrap), so it cannot read others of its
uid; seccomp refuses signals to others.

Why not fewer
-------------

Seccomp cannot look at paths; Landlock cannot stop ioctl, signals, sockets of all kinds or CPU;
rlimits count per process and not per action, and none of them bounds wall time or files. A user of
its own does nothing against the kernel; namespaces alone leave the whole system call table open.
Each is there for what the others cannot do, and where two do the same (files: Landlock,
bubblewrap, identity), one of them may be missing on a machine and nothing is open.

Order: limits and user before Landlock, for they need no file; PDEATHSIG again after the user,
which clears it; seccomp last, since it forbids the calls that raise the others.

What it costs: `benchmarks/sandbox_layers.py` prints it wall by wall. All together are about 2.5 ms, and none
is over 1 ms: Landlock's rules are kept open and seccomp's program compiled in the zygote, so that a
run only names its folder and its process id. A session of its own (setsid) was dropped: the kernel
takes 2 ms to make one, and a process group does what we want of it.

Nothing survives. A student's fork ends with its run, so threads, timers, exit hooks, patched modules
and set flags are gone with its memory, and so does a judge's. What outlives a submission has run no code
of it, nor an author's text. After a run that did not end cleanly the zygote must answer;
if it does not, or has died, or has made 5000 forks, it is replaced (`graders.pool.process_pool`).

Required are seccomp and Landlock; `graders.self_test` tries all of it in a real run before a worker
grades the first submission, and the worker refuses to go on if an action gets through.
"""
