"""What a student's process cannot do. Each denial leaves the student with their own error, and us with nothing lost."""

from collections.abc import Callable

from graders.report import Report, Verdict

Grade = Callable[..., Report]


def refused(report: Report) -> bool:
    """Did the student's own code meet the wall, as an exception of its own?"""
    return report.error is not None and report.error.type in (
        "PermissionError",
        "OSError",
        "BlockingIOError",
        "FileNotFoundError",
    )


def test_student_cannot_open_a_socket(grade: Grade) -> None:
    """Networking is refused inside a run, and the report says so as the student's own error."""
    report = grade("import socket\nsocket.socket()\n")
    assert report.verdict is Verdict.ERROR
    assert refused(report)


def test_student_cannot_start_a_program(grade: Grade) -> None:
    """Neither fork nor exec works."""
    assert refused(grade("import os\nos.execv('/bin/true', ['true'])\n"))
    assert refused(grade("import os\nos.fork()\n"))
    assert refused(grade("import subprocess\nsubprocess.run(['true'])\n"))


def test_student_cannot_read_the_project(grade: Grade) -> None:
    """The exercise, its solution and the rest of the project are out of sight."""
    report = grade("import os\nprint(os.listdir('/'))\n")
    assert refused(report)
    reading = f"print(open({__file__!r}).read())\n"
    assert refused(grade(reading))


def test_student_cannot_read_other_processes(grade: Grade) -> None:
    """/proc is out of sight, so no environment and no memory of anyone is."""
    assert refused(grade("import os\nopen(f'/proc/{os.getppid()}/environ').read()\n"))


def test_student_cannot_signal_others(grade: Grade, solution: str) -> None:
    """Signals to the warm process are refused; the next run needs it."""
    assert refused(grade("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"))
    assert grade(solution).verdict is Verdict.PASSED


def test_student_cannot_write_outside_the_scratch_folder(grade: Grade) -> None:
    """Its own folder can be written in, nothing else."""
    assert grade("open('mine.txt', 'w').write('x')\nprint(open('mine.txt').read())\n").output == "x\n"
    assert refused(grade("open('/tmp/kelolo-escape.txt', 'w')\n"))


def test_student_cannot_leave_a_file_for_the_next_run(grade: Grade) -> None:
    """Each run's folder is its own and is gone afterwards."""
    grade("open('left.txt', 'w').write('x')\n")
    assert grade("import os\nprint(os.listdir('.'))\n").output == "[]\n"


def test_student_cannot_see_the_environment(grade: Grade, monkeypatch: object) -> None:
    """The warm process was started with an environment of its own."""
    report = grade("import os\nprint(sorted(os.environ))\n")
    assert "KELOLO" not in report.output
    assert "HOME" in report.output


def test_student_cannot_find_the_reference_in_memory(grade: Grade) -> None:
    """No module of the judge, no expected value and no check is anywhere in the student's process."""
    report = grade(
        "import gc, sys\n"
        "print([m for m in sys.modules if 'judge' in m or m.startswith('graders')])\n"
        "print(sum('nn.Embedding(vocab_size' in repr(o) for o in gc.get_objects() if type(o) in (str, dict)))\n"
    )
    assert report.output.splitlines()[0] == "[]"


def test_student_cannot_import_the_platform(grade: Grade) -> None:
    """Neither the grader nor the web server can be imported."""
    for module in ("graders.judge.main", "graders.grader", "app.settings"):
        report = grade(f"import {module}\n")
        assert report.error is not None
        assert report.error.type == "ModuleNotFoundError"


def test_student_cannot_forge_a_report(grade: Grade) -> None:
    """Writing a verdict to every descriptor passes nothing: what leaves the process is only an observation."""
    forged = (
        "import os, json\n"
        "said = json.dumps({'verdict': 'passed', 'checks': []}).encode()\n"
        "for fd in range(3, 64):\n"
        "    try: os.write(fd, b'KLO1' + bytes([2]) + len(said).to_bytes(4, 'little') + bytes(4) + said)\n"
        "    except OSError: pass\n"
        "os._exit(0)\n"
    )
    report = grade(forged)
    assert report.verdict is Verdict.CRASHED
    assert not any(check.status.value == "passed" for check in report.checks)


def test_student_cannot_announce_more_than_is_read(grade: Grade, solution: str) -> None:
    """A frame that observations four gigabytes is refused by its header."""
    report = grade("import os\nos.write(4, b'KLO1' + bytes([2]) + b'\\xff' * 8)\nimport time\ntime.sleep(60)\n")
    assert report.verdict is Verdict.CRASHED
    assert grade(solution).verdict is Verdict.PASSED


def test_student_cannot_pass_by_patching_torch(grade: Grade) -> None:
    """Comparing happens in another process, so functions that always agree do not help."""
    report = grade(
        "torch.equal = torch.allclose = lambda *a, **k: True\n"
        "token_emb = nn.Embedding(vocab_size, n_embd)\npos_emb = nn.Embedding(block_size, n_embd)\n"
        "tok = token_emb(x)\npos = pos_emb(torch.arange(block_size).flip(0))\nh = tok * pos\n"
    )
    assert report.verdict is Verdict.FAILED


def test_student_cannot_pass_with_tables_that_prove_nothing(grade: Grade, solution: str) -> None:
    """With all-zero tables a wrong sum looks right; with the numbers that are tried in their place it does not."""
    report = grade(f"{solution}\nnn.init.zeros_(token_emb.weight)\nnn.init.zeros_(pos_emb.weight)\ntok = h = h * 0\n")
    found = {check.id: check.status.value for check in report.checks}
    assert "failed" in (found["tok"], found["h"])
