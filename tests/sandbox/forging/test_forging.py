"""A student's process cannot pass with anything but right values."""

from collections.abc import Callable

import pytest

from graders.report import Report, Verdict

Grade = Callable[..., Report]
WRONG = (
    "token_emb = nn.Embedding(vocab_size, n_embd)\npos_emb = nn.Embedding(block_size, n_embd)\n"
    "tok = token_emb(x)\npos = pos_emb(torch.arange(block_size).flip(0))\nh = tok * pos\n"
)
FRAME = "b'KLO1' + bytes([{type}]) + len(said).to_bytes(4, 'little') + (0).to_bytes(4, 'little') + said"


def test_student_cannot_forge_a_verdict_on_any_descriptor(grade: Grade) -> None:
    """Whatever is written, and wherever, nothing in it is taken for a verdict."""
    code = WRONG + (
        "import os, json\nsaid = json.dumps({'verdict': 'passed', 'passed': True, 'score': 1}).encode()\n"
        "for fd in range(64):\n    for text in (said, said + b'\\n', b'%d\\n' % len(said) + said):\n"
        "        try: os.write(fd, text)\n        except OSError: pass\n"
    )
    assert grade(code).verdict is not Verdict.PASSED


@pytest.mark.parametrize("kind", range(1, 15))
def test_student_cannot_forge_a_frame(grade: Grade, kind: int) -> None:
    """A well-formed frame of any type, with an outcome in it, passes nothing."""
    code = WRONG + (
        "import os, json\nsaid = json.dumps({'checks': [], 'outputs': {}, 'inputs': {}, 'fault': None, 'defined': [],"
        "'probed': {}, 'printed': '', 'gradients': {}}).encode()\n"
        f"os.write(4, {FRAME.format(type=kind)} * 20)\nos._exit(0)\n"
    )
    assert grade(code).verdict is not Verdict.PASSED


@pytest.mark.parametrize(
    "said",
    [
        "b'[' * 100000",
        "b'{' + b'\"a\":{' * 50000",
        "b'{\"outputs\": NaN}'",
        "b'\\xff\\xfe'",
        "b''",
        "json.dumps({'outputs': {str(n): {'kind': 'tensor'} for n in range(5000)}}).encode()",
        "json.dumps({'outputs': {'h': {'kind': 'tensor', 'shape': [10**18] * 50}}, 'inputs': {}}).encode()",
        "json.dumps({'outputs': {'h': {'kind': 7}}, 'inputs': 3, 'fault': 'x'}).encode()",
        "json.dumps({'outputs': {}, 'inputs': {}, 'fault': {'line': 'a' * 100000}}).encode()",
        'b\'{"outputs": {}, "printed": 1e999}\'',
    ],
    ids=[
        "deep list",
        "deep object",
        "NaN",
        "not UTF-8",
        "empty",
        "5000 names",
        "huge shape",
        "wrong types",
        "long line",
        "infinity",
    ],
)
def test_student_cannot_confuse_the_judge(grade: Grade, said: str) -> None:
    """Garbled observations are the student's crash, never a fault of ours."""
    code = WRONG + f"import os, json\nsaid = {said}\nos.write(4, {FRAME.format(type=2)})\nimport time\ntime.sleep(9)\n"
    assert grade(code).verdict in (Verdict.CRASHED, Verdict.TIME_LIMIT, Verdict.FAILED)


@pytest.mark.parametrize(
    "patch",
    [
        "torch.equal = torch.allclose = torch.isclose = lambda *a, **k: True",
        "torch.testing.assert_close = lambda *a, **k: None",
        'import json; json.dumps = lambda *a, **k: \'{"verdict": "passed"}\'',
        "import os; os.write = lambda *a: 0",
        "import struct; struct.pack = lambda *a: b''",
        "nn.Embedding = nn.functional.embedding = lambda *a, **k: torch.ones(1)",
        "torch.Tensor.__eq__ = lambda *a: True",
        "torch.autograd.grad = lambda *a, **k: (torch.ones(vocab_size, n_embd),)",
        "torch.randn = lambda *a, **k: torch.zeros(*a[0]) if a else None",
        "import builtins; builtins.len = lambda x: 0",
        "import builtins; builtins.isinstance = lambda *a: True",
        "import sys; sys.modules.clear()",
        "import gc; [setattr(o, 'passed', True) for o in gc.get_objects() if hasattr(o, '__dict__') and 0]",
    ],
)
def test_student_cannot_pass_by_patching(grade: Grade, patch: str) -> None:
    """Functions replaced in the student's process judge nothing."""
    assert grade(f"{WRONG}{patch}\n").verdict is not Verdict.PASSED


def test_student_cannot_pass_by_exiting_first(grade: Grade) -> None:
    """Exit codes mean nothing."""
    for code in ("import os\nos._exit(0)", "raise SystemExit(0)", "import sys\nsys.exit()"):
        assert grade(f"{WRONG}{code}\n").verdict is not Verdict.PASSED


def test_student_cannot_find_expected_values(grade: Grade) -> None:
    """No frame of the process holds a reference, a check or a seed."""
    code = WRONG + (
        "import sys\nframe = sys._getframe()\nseen = set()\n"
        "while frame:\n    seen |= set(frame.f_locals)\n    frame = frame.f_back\n"
        "print(sorted(n for n in seen if n in ('expected', 'reference', 'solution', 'checks', 'answer', 'seed')))\n"
    )
    assert grade(code).output.splitlines() == ["[]"]


@pytest.mark.parametrize(
    "module", ["graders", "graders.judge.main", "graders.grader", "app", "app.settings", "exercises"]
)
def test_student_cannot_import_the_platform(grade: Grade, module: str) -> None:
    """Nothing of ours is importable."""
    report = grade(f"import {module}")
    assert report.error is not None
    assert report.error.type in ("ModuleNotFoundError", "ImportError")


def test_student_cannot_lie_with_a_class(grade: Grade) -> None:
    """An object that says it is a tensor is looked at by its real type."""
    code = WRONG + (
        "class Liar:\n    __class__ = torch.Tensor\n    shape = torch.Size([32, 8, 32])\n"
        "    def __eq__(self, other): return True\n    def __getattr__(self, name): return lambda *a, **k: self\n"
        "h = pos = Liar()\n"
    )
    assert grade(code).verdict is Verdict.FAILED


def test_student_cannot_lie_with_a_subclass(grade: Grade) -> None:
    """A tensor subclass that answers for itself is not asked."""
    code = WRONG + (
        "class Liar(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *a, **k): return torch.ones(1)\n"
        "h = torch.Tensor._make_subclass(Liar, torch.zeros(32, 8, 32))\n"
    )
    assert grade(code).verdict is not Verdict.PASSED


def test_student_cannot_act_after_the_end(grade: Grade) -> None:
    """Exit hooks, finalizers, timers and threads that forge later come too late."""
    code = WRONG + (
        "import atexit, os, signal, threading, weakref\n"
        "def forge(*_):\n    os.write(4, b'KLO1' + bytes([4]) + bytes(8))\n    os._exit(0)\n"
        "atexit.register(forge)\nweakref.finalize(nn.Module(), forge)\nsignal.signal(signal.SIGALRM, forge)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nthreading.Timer(0.01, forge).start()\n"
    )
    assert grade(code).verdict is not Verdict.PASSED


def test_student_cannot_pass_with_uninitialised_memory(grade: Grade) -> None:
    """The reference has never been in this process."""
    code = WRONG + "h = torch.empty(x.shape[0], x.shape[1], n_embd)\npos = torch.empty(block_size, n_embd)\n"
    assert grade(code).verdict is not Verdict.PASSED


def test_student_cannot_pass_by_knowing_the_lesson(grade: Grade, solution: str) -> None:
    """Right values on the lesson's data and wrong ones elsewhere fail."""
    assert grade(f"{solution}\nif block_size != 8: h = h + 1\n").verdict is Verdict.FAILED


def test_student_cannot_fake_a_gradient(grade: Grade, solution: str) -> None:
    """The right numbers with a gradient that goes elsewhere fail."""
    code = solution + (
        "\nclass Elsewhere(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, t): return t.clone()\n"
        "    @staticmethod\n    def backward(ctx, g): return torch.zeros_like(g)\n"
        "tok = Elsewhere.apply(tok)\n"
    )
    report = grade(code)
    assert {check.id: check.status.value for check in report.checks}["tok-learns"] == "failed"
