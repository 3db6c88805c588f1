"""Verdicts that were once wrong: unusual right code that was refused, and wrong code that got through."""

from collections.abc import Callable

import pytest

from graders.report import Report, Verdict

Grade = Callable[..., Report]
TABLES = "token_emb = nn.Embedding(vocab_size, n_embd)\npos_emb = nn.Embedding(block_size, n_embd)\n"
STEPS = "tok = token_emb(x)\npos = pos_emb(torch.arange(block_size))\n"
LOOKS = "import os\nassert not os.listdir('.'), 'somebody was here'\n"
SUM = "h = tok + pos\n"

RIGHT = {
    "an optimiser afterwards": TABLES + STEPS + SUM + "torch.optim.SGD(token_emb.parameters(), lr=0.1).zero_grad()\n",
    "a temporary file": "import tempfile\ntempfile.NamedTemporaryFile()\n" + TABLES + STEPS + SUM,
    "autograd.grad afterwards": TABLES + STEPS + SUM + "torch.autograd.grad(h.sum(), token_emb.weight)\n",
    "backward with random weights": TABLES + STEPS + SUM + "(h * torch.rand_like(h)).sum().backward()\n",
    "float64 by default": "torch.set_default_dtype(torch.float64)\n" + TABLES + STEPS + SUM,
    "gradients switched off at the end": TABLES + STEPS + SUM + "torch.set_grad_enabled(False)\n",
    "a file made once": TABLES + STEPS + SUM + "open('notes.txt', 'x').close()\n",
    "a file looked for before it is made": TABLES + STEPS + SUM + LOOKS + "open('2', 'x').close()\n",
    "x as another type": TABLES
    + "x = x.to(torch.int16)\ntok = token_emb(x.long())\n"
    + STEPS.splitlines()[1]
    + "\n"
    + SUM,
    "tables in a plain class": (
        "class Table:\n    def __init__(self, n, d):\n        self.rows = torch.randn(n, d, requires_grad=True)\n"
        "token_emb, pos_emb = Table(vocab_size, n_embd), Table(block_size, n_embd)\n"
        "tok = token_emb.rows[x]\npos = pos_emb.rows[torch.arange(block_size)]\n" + SUM
    ),
    "tables scaled after they were drawn": (
        "token_emb = torch.randn(vocab_size, n_embd, requires_grad=True) * 0.02\n"
        "pos_emb = torch.randn(block_size, n_embd, requires_grad=True) * 0.02\n"
        "tok = token_emb[x]\npos = pos_emb[torch.arange(block_size)]\n" + SUM
    ),
    "positive tables made and used in one statement": (
        "def made():\n"
        "    a, b = nn.Parameter(torch.rand(vocab_size, n_embd)), nn.Parameter(torch.rand(block_size, n_embd))\n"
        "    return a, b, a[x], b[torch.arange(block_size)]\ntoken_emb, pos_emb, tok, pos = made()\n" + SUM
    ),
}
CUT = "class Cut(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, t): return t.clone()\n"
WRONG = {
    "h hears of tokens not at all": TABLES + STEPS + "h = tok.detach() + pos + 0 * tok\n",
    "h hears of tokens twice": TABLES + STEPS + "h = 2 * tok + pos - tok.detach()\n",
    "h hears the opposite": (
        TABLES + STEPS + CUT + "    @staticmethod\n    def backward(ctx, g): return -g\nh = Cut.apply(tok + pos)\n"
    ),
    "h stays silent by a hook": TABLES + STEPS + SUM + "h.register_hook(lambda g: g * 0)\n",
    "a product in disguise": TABLES + STEPS + "z = tok * pos\nh = z + (tok + pos - z).detach()\n",
    "tiny tables hide the sign": (
        TABLES
        + "nn.init.normal_(token_emb.weight, std=1e-7)\nnn.init.normal_(pos_emb.weight, std=1e-7)\n"
        + STEPS
        + "h = tok - pos\n"
    ),
    "positive tables hide a relu": (
        TABLES
        + "nn.init.uniform_(token_emb.weight)\nnn.init.uniform_(pos_emb.weight)\n"
        + STEPS
        + "h = torch.relu(tok + pos)\n"
    ),
    "small tables hide a tanh": (
        TABLES
        + "nn.init.normal_(token_emb.weight, std=1e-3)\nnn.init.normal_(pos_emb.weight, std=1e-3)\n"
        + STEPS
        + "h = torch.tanh(tok + pos)\n"
    ),
    "a batch of one window": (
        TABLES
        + "x = x[:1].repeat(batch_size, 1)\n"
        + STEPS.replace("token_emb(x)", "token_emb(x[0]).expand(*x.shape, -1)")
        + SUM
    ),
    "huge tokens hide the positions": TABLES + "nn.init.normal_(token_emb.weight, std=1e30)\n" + STEPS + "h = tok\n",
    "one number for two tables": (
        "one = nn.Parameter(torch.ones(1))\ntoken_emb = torch.randn(vocab_size, n_embd) * one\n"
        "pos_emb = torch.randn(block_size, n_embd) * one\n"
        "tok = token_emb[x]\npos = pos_emb[torch.arange(block_size)]\n" + SUM
    ),
    "one column stretched to a table": (
        "token_emb = nn.Parameter(torch.randn(vocab_size, 1)).expand(-1, n_embd)\n"
        "pos_emb = nn.Parameter(torch.randn(block_size, 1)).expand(-1, n_embd)\n"
        "tok = token_emb[x]\npos = pos_emb[torch.arange(block_size)]\n" + SUM
    ),
    "tables that share rows": (
        "base = torch.randn(2 * vocab_size, n_embd)\ntoken_emb = nn.Parameter(base[::2])\n"
        "pos_emb = nn.Parameter(base[: 2 * block_size : 2])\n"
        "tok = token_emb[x]\npos = pos_emb[torch.arange(block_size)]\n" + SUM
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_right_code_passes(grade: Grade, name: str) -> None:
    """What is right by its values, shapes and gradients passes, however it is written."""
    report = grade(RIGHT[name])
    assert report.verdict is Verdict.PASSED, [check.message for check in report.checks if check.message]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_in_disguise_fails(grade: Grade, name: str) -> None:
    """What only looks right fails."""
    assert grade(WRONG[name]).verdict is Verdict.FAILED


@pytest.mark.parametrize("source", ["", "# nothing yet\n", "import math\n", "print(x.shape)\n"])
def test_nothing_done_yet_is_no_misconception(grade: Grade, source: str) -> None:
    """An empty answer shows no wrong idea."""
    assert grade(source).misconception is None


@pytest.mark.parametrize("new", ["1", "None", "'ids'", "[[1, 2]]", "x + 1000", "x[0]", "x.float() / 2"])
def test_x_that_holds_no_vectors_is_not_said_to(grade: Grade, solution: str, new: str) -> None:
    """Then the check says what has become of `x`, which is true of whatever stands there."""
    for source in (f"x = {new}\n", f"{solution}\nx = {new}\n"):
        report = grade(source)
        assert report.verdict is not Verdict.PASSED
        assert report.misconception is None or report.misconception.tag != "x-overwritten"


def test_x_that_holds_vectors_is_said_to(grade: Grade, solution: str) -> None:
    """Rows have been put in place of the ids, before they were used or after."""
    for source in (solution.replace("tok = token_emb(x)", "x = token_emb(x)\ntok = x"), f"{solution}\nx = h\n"):
        report = grade(source)
        assert report.misconception is not None
        assert report.misconception.tag == "x-overwritten"


def test_an_exceptions_text_is_printable(grade: Grade) -> None:
    """Lone surrogates, NUL and terminal codes of a student's exception stay out of the report."""
    for text in ("\\ud800", "\\x1b[2J", "\\x00"):
        report = grade(f"raise ValueError('{text}')")
        assert report.error is not None
        assert report.error.message.isprintable()
        str(report.to_json()).encode("utf-8")


@pytest.mark.parametrize(
    "last", ["print(h.numpy())", "print('h: ' + h.shape)", "print(h[100])", "assert h.shape == (1,)"]
)
def test_slip_after_right_work_is_no_misconception(grade: Grade, solution: str, last: str) -> None:
    """What the last line says wrong is told as the error that it is, not as an idea about sizes."""
    report = grade(f"{solution}\n{last}\n")
    assert report.verdict is Verdict.ERROR
    assert report.misconception is None


@pytest.mark.parametrize("seeding", ["torch.cuda.manual_seed_all(seed=0)", "torch.xpu.manual_seed_all(seed=0)"])
def test_seeding_a_device_that_is_not_there_is_right(grade: Grade, solution: str, seeding: str) -> None:
    """Many lines that are copied from elsewhere do so."""
    assert grade(f"{seeding}\n{solution}").verdict is Verdict.PASSED


@pytest.mark.parametrize("halved", ["h = (tok + pos).half()", "tok = tok.bfloat16()\nh = (tok + pos).float()"])
def test_half_precision_is_refused_where_nobody_asked_for_it(grade: Grade, solution: str, halved: str) -> None:
    """What is lost in it could be a whole step, so it buys no room: the output that holds it has failed."""
    report = grade(f"{solution}\n{halved}\n")
    assert report.verdict is Verdict.FAILED
    assert any("float16" in check.message for check in report.checks)


def test_table_that_is_lost_beside_the_other_hides_nothing(grade: Grade, solution: str) -> None:
    """With such a pair `h` looks right whether the positions are added or not; with other numbers it does not."""
    start = "\nnn.init.normal_(token_emb.weight, std=30.)\nnn.init.normal_(pos_emb.weight, std=5e-5)\n"
    steps = "tok = token_emb(x)\npos = pos_emb(torch.arange(block_size))\n"
    wrong = grade(f"{solution}{start}{steps}h = tok + (pos - pos.detach())\n")
    assert {one.id: one.status.value for one in wrong.checks}["h"] == "failed"
    assert grade(f"{solution}{start}{steps}h = tok + pos\n").verdict is Verdict.PASSED


@pytest.mark.parametrize("number", ["1.0", "100.0"])
def test_number_in_the_place_of_a_table_is_told_by_its_shape(grade: Grade, number: str) -> None:
    """A number alone has no rows; it is said so of the table that it stands for, whatever is beside it."""
    small = "token_emb = nn.Parameter(torch.randn(vocab_size, n_embd) * 2e-4)\n"
    report = grade(small + f"pos_emb = nn.Parameter(torch.tensor({number}))\ntok, pos = token_emb[x], pos_emb\n" + SUM)
    assert report.verdict is Verdict.FAILED
    told = {check.id: check.message for check in report.checks}
    assert told["position-table"] == "`pos_emb` has the shape [], but it should be [8, 32] (position, channel)."


def test_long_thin_tensors_cost_the_judge_nothing(grade: Grade, solution: str) -> None:
    """Added together they would make 64 million numbers, again for each of the author's expressions."""
    thin = "tok = torch.randn(8000, 1)\npos = torch.randn(1, 8000)\nh = torch.randn(8000, 1)\n"
    slow, right = grade(f"{solution}\n{thin}"), grade(solution)
    assert slow.verdict is Verdict.FAILED
    assert slow.timing_ms.judge < 20 * right.timing_ms.judge + 500
