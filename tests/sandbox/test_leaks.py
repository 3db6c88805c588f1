"""A student's process cannot learn what is not its own, nor leave anything behind."""

import os
import re
from collections.abc import Callable

import pytest

from graders.grader import Grader
from graders.report import Report, Verdict

Run = Callable[[str], Report]
Grade = Callable[..., Report]


def test_student_cannot_see_our_environment(run: Run) -> None:
    """The warm process has an environment of its own; ours is not even in its memory."""
    os.environ["KELOLO_CANARY"] = "CANARY-ENV"
    output = run("import os\nprint(dict(os.environ))").output
    assert "CANARY" not in output
    assert "HOME" in output


def test_student_cannot_see_descriptors_of_others(run: Run) -> None:
    """Five descriptors, and no more."""
    code = (
        "import os\nfound = []\nfor fd in range(64):\n    try: os.fstat(fd); found.append(fd)\n"
        "    except OSError: pass\nprint(found)"
    )
    assert run(code).output == "[0, 1, 2, 3, 4]\n"


def test_student_cannot_print_fresh_data(grade: Grade, solution: str) -> None:
    """Neither output nor exception text of a fresh trial is shown."""
    report = grade(f"{solution}\nprint(block_size)\nif block_size != 8: raise ValueError(f'secret {{words}}')\n")
    said = str(report.to_json())
    assert report.output == "8\n"
    assert "secret" not in said


def test_student_cannot_name_an_exception_after_fresh_data(grade: Grade, solution: str) -> None:
    """A class made to carry data out in its name is told as an exception of its own."""
    code = f"{solution}\nif block_size != 8: raise type('SECRET' + str(block_size), (Exception,), {{}})()\n"
    assert "SECRET" not in str(grade(code).to_json())


def test_student_cannot_keep_a_stream_for_fresh_data(grade: Grade, solution: str) -> None:
    """A copy of stdout made on the lesson's data shows nothing of later ones."""
    code = (
        "import os, builtins\n"
        "if block_size == 8: builtins.kept = os.dup(1)\n"
        "else: os.write(builtins.kept, b'secret')\n" + solution
    )
    assert "secret" not in grade(code).output


def test_student_cannot_leave_a_file(run: Run, tmp_path_factory: object) -> None:
    """The folder of a run is gone when the next one starts."""
    run("import os\nos.mkdir('a')\nopen('a/left', 'w').write('x')")
    assert run("import os\nprint(os.listdir('.'))").output == "[]\n"


def test_student_cannot_leave_a_closed_folder(run: Run) -> None:
    """Folders that deny everyone are removed all the same."""
    run("import os\nos.umask(0o777)\nos.makedirs('a/b') if False else os.mkdir('a')")
    assert run("import os\nprint(os.listdir('.'))").output == "[]\n"


def test_student_cannot_leave_folders_too_deep_to_remove(run: Run, grader: Grader) -> None:
    """Thousands of nested folders are gone after the run, and nothing recurses into them."""
    report = run("import os\nfor _ in range(900):\n    os.mkdir('d')\n    os.chdir('d')")
    assert report.verdict in (Verdict.PASSED, Verdict.OUTPUT_LIMIT)
    assert run("import os\nprint(os.listdir('.'))").output == "[]\n"


def test_student_cannot_leave_a_process(run: Run) -> None:
    """When the verdict is there, the run's process is gone or dying."""
    run("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
    report = run("import os\nprint(os.getpid())")
    assert report.verdict is Verdict.PASSED


def test_student_cannot_change_the_next_run(run: Run) -> None:
    """What a run does to Python and torch dies with it."""
    spoil = ["builtins.print = None", "torch.ones = None", "sys.path.clear()", "torch.set_default_dtype(torch.float64)"]
    run("\n".join(["import builtins, torch, sys", *spoil]))
    report = run("import torch, sys\nprint(torch.ones(1).dtype, len(sys.path) > 0)")
    assert report.output == "torch.float32 True\n"


def test_student_cannot_foresee_randomness(run: Run) -> None:
    """Unseeded randomness differs from run to run."""
    code = "import random, os\nprint(random.random(), os.urandom(4).hex(), torch.seed())"
    assert run(code).output != run(code).output


@pytest.mark.parametrize("folder", ["..", "../..", "/tmp"])  # noqa: S108  looked at only
def test_student_cannot_see_other_folders(run: Run, folder: str) -> None:
    """Beside its own folder it sees no other run's, wherever runs have theirs."""
    report = run(f"import os\ntry: print(os.listdir({folder!r}))\nexcept OSError: print('closed')")
    assert report.output == "closed\n"


CARRIED = 'secret = "SECRET" + "".join(chars).strip() + "_".join(words[:12])\n'


@pytest.mark.parametrize(
    "carried",
    [
        "exec(compile(f'def {secret}():\\n    h = 1\\n', 'main.py', 'exec')); del h",
        "h = type(secret, (), {})()",
        "h = type(secret, (nn.Module,), {})()",
        "token_emb = type(secret, (), {})()",
        "pos_emb = type(secret, (nn.Module,), {'forward': lambda self: 1})()",
        "pos = type(secret, (torch.Tensor,), {})()",
        "h = h.rename(*[f'{secret[:20]}{n}' for n in range(3)])",
        "raise NameError(f\"name '{secret}' is not defined\")",
        "raise KeyError(secret)",
        "h.register_hook(lambda g: (_ for _ in ()).throw(ValueError(secret)))",
    ],
)
def test_student_cannot_carry_fresh_data_out_in_a_name(grade: Grade, solution: str, carried: str) -> None:
    """On fresh data messages speak in the author's names only, whatever functions, classes or axes are called."""
    report = grade(f"{solution}\nif block_size != 8:\n    {CARRIED}    {carried}\n")
    assert report.verdict is not Verdict.PASSED
    assert "SECRET" not in str(report.to_json())


@pytest.mark.parametrize(
    "carried",
    [
        "h = torch.zeros(*secret)",
        "pos_emb = nn.Embedding(secret[0], secret[1])",
        "token_emb = nn.Parameter(torch.zeros(secret[0] * secret[1]))",
        "tok = torch.zeros(secret[0], secret[1], dtype=torch.complex64)",
    ],
)
def test_student_cannot_carry_fresh_data_out_in_a_shape(grade: Grade, solution: str, carried: str) -> None:
    """A shape that is not made of the trial's own sizes is another shape, and no more is said."""
    report = grade(f"{solution}\nif block_size != 8:\n    secret = [731, 947]\n    {carried}\n")
    assert report.verdict is not Verdict.PASSED
    said = re.sub(r"[0-9a-f]{12,}", "", str(report.to_json()))  # the report's fingerprint may hold any digits
    assert "731" not in said
    assert "947" not in said
