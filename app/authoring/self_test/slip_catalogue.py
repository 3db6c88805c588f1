"""The commonest slips, each with the names that it may be given: none, where no shipped exercise has a name for it."""

from app.authoring.self_test.slips import Change, Slip, data, dropped, line, misspelled, renamed, result, table, wrapped


def _slip(name: str, change: Change, *tags: str) -> Slip:
    return Slip(name, change, frozenset(tags))


_STOPS = (
    _slip("an exit after the first line", line("exit()", at=1)),
    _slip("an exit before the first line", line("raise SystemExit", at=0)),
    _slip("an exception of its own at the end", line("raise RuntimeError('not done yet')")),
    _slip("an assertion that does not hold", line("assert 1 == 2")),
    _slip("a misspelled name in a last print", line("print(resultt)"), "name-not-defined"),
    _slip("a misspelled name in the first result", misspelled(which=0), "name-not-defined"),
    _slip("a misspelled name in the last result", misspelled(which=-1), "name-not-defined"),
    _slip("a module that is not there", line("import tensorflow", at=0)),
    _slip("a file that is not there", line("open('names.txt').read()", at=0)),
    _slip("an input that nobody types", line("input('n? ')", at=0)),
    _slip("a division by zero at the end", line("1 / 0")),
    _slip("a function that torch lacks", line("torch.arrange(3)", at=1)),
    _slip("a layer without its sizes", line("torch.nn.Embedding(3)", at=0)),
    _slip("a device that is not there", line("torch.ones(1).cuda()", at=1)),
    _slip("sizes that do not line up, at the end", line("torch.ones(2, 3) + torch.ones(2, 4)")),
    _slip("types that do not fit, at the end", line("torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.long)")),
    _slip("a backward that fails, at the end", line("torch.ones(2, requires_grad=True).backward()")),
    _slip("a backward of what has no gradient, at the end", line("torch.ones(1).backward()")),
    _slip("a list that is called", line("[1, 2](0)")),
    _slip("a key that is not there", line("{}['a']", at=0)),
)
_TEXTS = (
    _slip("the first result under another name", renamed(which=0), "asked-name-missing", "result-not-stored"),
    _slip("the last result under another name", renamed(which=-1), "asked-name-missing", "result-not-stored"),
    _slip("all in a function that is not called", wrapped("def work():"), "function-not-called"),
    _slip("all behind a condition that does not hold", wrapped("if False:"), "result-not-stored", "asked-name-missing"),
    _slip("the first line forgotten", dropped(which=0), "name-not-defined", "result-not-stored", "asked-name-missing"),
    _slip("the last line forgotten", dropped(which=-1), "result-not-stored", "asked-name-missing"),
)
_RESULTS = (
    _slip("a result as an array", result("VALUE.detach().numpy()"), "left-torch"),
    _slip("a result as a list", result("VALUE.tolist()"), "left-torch"),
    _slip("a result in a list", result("[VALUE]"), "returns-too-much"),
    _slip("a result in a dictionary", result("{'rows': VALUE}"), "returns-too-much"),
    _slip("a result that is None", result("print(VALUE)"), "returns-nothing"),
    _slip("a result without its gradient", result("VALUE.detach()"), "gradient-cut"),
    _slip("a first result without its gradient", result("VALUE.detach()", which=0), "gradient-cut"),
    _slip("a result with an axis more", result("VALUE.unsqueeze(0)"), "extra-batch-axis"),
    _slip("a first result with an axis more", result("VALUE.unsqueeze(0)", which=0), "extra-batch-axis"),
    _slip(
        "a result with its last axes swapped",
        result("VALUE.transpose(-1, 0)"),
        "transposed",
        "axes-swapped",
        "onehot-transposed",
        "columns-instead-of-rows",
    ),
    _slip(
        "a result in one line",
        result("VALUE.flatten()"),
        "axes-run-together",
        "flattened-result",
        "ids-run-together",
    ),
    _slip("a result that is rounded", result("VALUE.round()")),
    _slip("a result as whole numbers", result("VALUE.long()"), "whole-numbers", "gradient-cut"),
    _slip("a result of half precision", result("VALUE.half()")),
    _slip("a result in another order", result("VALUE.flip(0)"), "positions-reversed", "onehot-order-lost"),
    _slip("a result that is shifted", result("VALUE + 1")),
    _slip("a result that is scaled", result("VALUE * 3"), "rows-scaled"),
    _slip("a result of zeros", result("VALUE * 0")),
    _slip("a result of chance", result("torch.randint(0, 9, VALUE.shape).to(VALUE.dtype)")),
    _slip("a part of a result", result("VALUE[:1]")),
    _slip("a mean of a result", result("VALUE.double().mean(0)"), "tokens-averaged", "summed-over-an-axis"),
    _slip("a sum over the last axis", result("VALUE.sum(-1)"), "summed-over-an-axis"),
    _slip("a result through a softmax", result("torch.softmax(VALUE.double(), -1)"), "softmax-on-top"),
    _slip("a result through dropout", result("torch.nn.functional.dropout(VALUE.double(), 0.5)"), "something-on-top"),
)
_TABLES = (
    _slip("a table in a list", table("[TABLE]")),
    _slip("a table as a list of rows", table("[torch.nn.Parameter(torch.randn(WIDTH)) for _ in range(ROWS)]")),
    _slip("a table in a dictionary", table("{'table': TABLE}")),
    _slip("a table as an array", table("torch.randn(ROWS, WIDTH).numpy()")),
    _slip("a table as a plain tensor", table("torch.rand(ROWS, WIDTH)"), "plain-tensor-table"),
    _slip("a table with a batch axis", table("torch.nn.Parameter(torch.randn(1, ROWS, WIDTH))")),
    _slip("a last table with a batch axis", table("torch.nn.Parameter(torch.randn(1, ROWS, WIDTH))", which=-1)),
    _slip("a table that is frozen", table("TABLE.requires_grad_(False)"), "tables-frozen", "table-frozen"),
    _slip(
        "a table with its sizes swapped",
        table("torch.nn.Parameter(torch.randn(WIDTH, ROWS))"),
        "rows-and-width-swapped",
        "columns-instead-of-rows",
    ),
    _slip("a table with a row more", table("torch.nn.Parameter(torch.randn(ROWS + 1, WIDTH))"), "off-by-one-rows"),
    _slip("a table with a row less", table("torch.nn.Parameter(torch.randn(ROWS - 1, WIDTH))"), "off-by-one-rows"),
    _slip("a table with a number more in each row", table("torch.nn.Parameter(torch.randn(ROWS, WIDTH + 1))")),
    _slip("a linear layer as a table", table("torch.nn.Linear(ROWS, WIDTH)"), "linear-as-table", "ready-layer-wrapped"),
    _slip(
        "a linear layer as a table, swapped",
        table("torch.nn.Linear(WIDTH, ROWS)"),
        "linear-as-table",
        "ready-layer-wrapped",
    ),
    _slip(
        "a first id that is padding",
        table("torch.nn.Embedding(ROWS, WIDTH, padding_idx=0)", layer=True),
        "padding-idx-stops-a-row",
    ),
    _slip(
        "another id that is padding",
        table("torch.nn.Embedding(ROWS, WIDTH, padding_idx=3)", layer=True),
        "padding-idx-stops-a-row",
    ),
    _slip("a table with longest rows", table("torch.nn.Embedding(ROWS, WIDTH, max_norm=0.1)", layer=True)),
    _slip("a table that sums", table("torch.nn.EmbeddingBag(ROWS, WIDTH)", layer=True), "tokens-averaged"),
    _slip(
        "a table of coarse numbers",
        table("torch.nn.Embedding(ROWS, WIDTH, dtype=torch.bfloat16)", layer=True),
        "wrong-number-type",
    ),
)
_DATA = (
    _slip("data as floating-point numbers", data("DATA.float()"), "ids-not-whole-numbers"),
    _slip("data as a list", data("DATA.tolist()"), "indexed-by-a-list"),
    _slip("data as an array", data("DATA.numpy()")),
    _slip("data shifted up", data("DATA + 1"), "shifted-ids"),
    _slip("data shifted down", data("DATA - 1"), "shifted-ids"),
    _slip("data with an axis more", data("DATA[None]")),
    _slip("data in one line", data("DATA.flatten()"), "flattened-result", "ids-run-together"),
    _slip("data transposed", data("DATA.T"), "axes-swapped", "transposed"),
    _slip("only the first of the data", data("DATA[:1]")),
    _slip("only the first datum", data("DATA[0]")),
    _slip("data in another order", data("DATA.flip(0)")),
    _slip("data without what comes twice", data("DATA.unique()")),
    _slip("places instead of data", data("torch.arange(len(DATA))"), "first-rows-looked-up"),
)
SLIPS = (*_STOPS, *_TEXTS, *_RESULTS, *_TABLES, *_DATA)
