"""What layers demand of their settings and of the tensors they are called on."""

import re

from graders.judge.feedback.explanations.numbers import dtype_name
from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene
from graders.judge.feedback.explanations.source import called, with_operands

_R, _T, _V, _A = "RuntimeError", "TypeError", "ValueError", "AssertionError"
_RECURRENT = {"LSTM", "GRU", "RNN"}
_ORDER = (
    "The axes of what it is called on are (sequence, batch, numbers), or (batch, sequence, numbers) where it was made "
    "with `batch_first=True`."
)


def _kind_of(scene: Scene) -> str:
    """The class of the layer that was called, as far as it is known."""
    part = scene.part(scene.callee)
    return part.type if part is not None else ""


def _bag(scene: Scene, _: re.Match[str]) -> str:
    return (
        f"{called(scene)} is an EmbeddingBag: it makes one row out of several (their sum or average), and for ids on "
        f"one axis it must be told with `offsets` where each bag of ids begins; it got none.{scene.details()} Do you "
        f"want one row for a whole bag, or a row for each id?"
    )


def _dtype(scene: Scene, match: re.Match[str]) -> str:
    given, own = dtype_name(match[1]), dtype_name(match[2])
    return (
        f"The numbers of {called(scene)} have dtype {own}, and what it is called on has dtype {given}: a layer works "
        f"with numbers of its own kind.{scene.details()} Are these ids that should be looked up first, or numbers that "
        f"should be converted?"
    )


def _channels(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{called(scene)} was made for {match[2]} channels, and the tensor of shape [{match[1]}] has {match[3]}: a "
        f"convolution takes its channels from axis 1 (batch, channels, positions).{scene.details()} Which axis of "
        f"yours holds the channels, the numbers of an embedding for instance?"
    )


def _axes(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{called(scene)} wants a tensor with {match[1]} axes and got the shape [{match[3]}]; the other form, with "
        f"{match[2]}, is that of a whole batch.{scene.details()} Which axes are batch, channels and positions?"
    )


def _batch_norm(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"{called(scene)} was made for {match[2]} channels, and the tensor has {match[1]} on its axis "
        f"1.{scene.details()} "
        f"Which of the two sizes is the one you meant, and which axis holds the channels?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("bag-without-offsets", _V, r"^offsets has to be a 1D Tensor but got None", _bag),
    ExplanationRule(
        "bag-offsets-needless",
        _V,
        r"^if input is 2D, then offsets has to be None",
        with_operands(
            "For ids on two axes {called} takes each row as one bag, so `offsets`, which say where bags begin, "
            "are too much.",
            "Is each row a bag, or should the ids lie on one axis?",
        ),
    ),
    ExplanationRule(
        "bag-offsets-begin",
        _R,
        r"^offsets\[0\] has to be 0.{0,120}However, got (-?\d+)",
        with_operands(
            "`offsets` say where each bag begins, and the first bag of {called} begins at place 0; here it is {0}.",
            "Where does the first one begin, counted from 0?",
        ),
    ),
    ExplanationRule(
        "bag-offsets-end",
        _R,
        r"^offsets\[-1\] can not be greater than input's length (\d+) but got offsets\[-1\] of (\d+)",
        with_operands(
            "The last of the `offsets` says that a bag begins at place {1}, and there are only {0} ids.",
            "At which place does the last bag begin?",
        ),
    ),
    ExplanationRule(
        "mode-unknown",
        _V,
        r"^(mode|padding_mode|reduction|nonlinearity) has to be one of (.{1,60})|^(\w{1,40}) is not a valid "
        r"value for (reduction)|^Unknown (nonlinearity) '(\w{1,40})'\. Select from (.{1,60})",
        lambda s, m: (
            f"`{m[1] or m[4] or m[5]}` of {called(s)} on line {s.line} is none of the words that it knows"
            f"{': ' + (m[2] or m[7]).rstrip('.').replace('`', chr(39)) if m[2] or m[7] else ''}"
            f"{', and got ' + repr(m[3] or m[6]) if m[3] or m[6] else ''}. Which of them says what should happen?"
        ),
    ),
    ExplanationRule(
        "layer-axes",
        _V,
        r"^(?:input has to be |\w+: Expected input to be |expected )(\d)D(?: or (\d)D)?(?: Tensor| input)?[, "
        r"(]{1,2}(?:but )?got (?:Tensor of dimension )?(\d)",
        lambda s, m: (
            f"{called(s)} wants a tensor with {m[1]}{f' or {m[2]}' if m[2] else ''} axes and got one "
            f"with {m[3]}.{s.details()} "
            f"Which axis is too many or missing, and in which order do they stand?"
        ),
    ),
    ExplanationRule(
        "heads-divide",
        _A,
        r"^embed_dim must be divisible by num_heads",
        with_operands(
            "{called} shares the numbers of each row (`embed_dim`) between its heads, and they must come out "
            "even: the first must be a multiple of `num_heads`.",
            "How many numbers would each head get?",
        ),
    ),
    ExplanationRule(
        "groups-divide",
        _V,
        r"^(\w+)(?: \((\d+)\))? must be divisible by (\w+)(?: \((\d+)\))?",
        lambda s, m: (
            f"In {called(s)} on line {s.line} `{m[1]}`{f' ({m[2]})' if m[2] else ''} must be a multiple of "
            f"`{m[3]}`{f' ({m[4]})' if m[4] else ''}, so that each group gets as many.{s.details()} Which of "
            f"the two should be another?"
        ),
    ),
    ExplanationRule(
        "attention-width",
        _A,
        r"^was expecting embedding dimension of (\d+), but got (\d+)",
        with_operands(
            "{called} was made for rows of {0} numbers, and the rows it got have {1}.",
            "Which of the two sizes is the one you meant?",
        ),
    ),
    ExplanationRule(
        "attention-mask",
        _R,
        r"^The (shape|size) of the (?:\dD )?attn_mask is (?:torch\.Size\()?(\[[\d, ]{1,60}\])\)?, but should "
        r"be (\([\d, ]{1,60}\))",
        with_operands(
            "The mask of {called} has the shape {1} and should have {2}: for each place one entry for each "
            "place it may look at. Which axis is the sequence depends on `batch_first`.",
            "Which axis of yours is the sequence?",
        ),
    ),
    ExplanationRule(
        "attention-axes",
        _A,
        r"^For (un)?batched \((\d)-D\) `query`, expected `key` and `value` to be (\d)-D but found (\d)-D and (\d)-D",
        with_operands(
            "In {called} query, key and value must have as many axes: the query has {1}, the key {3} and the "
            "value {4}.",
            "Which of the three lacks an axis?",
        ),
    ),
    ExplanationRule(
        "batch-of-one",
        _V,
        r"^Expected more than 1 value per channel when training, got input size torch\.Size\((\[[\d, ]{1,60}\])\)",
        with_operands(
            "{called} works out mean and spread over the batch, and with the shape {0} there is only one value "
            "of each channel.",
            "How many examples are in the batch, or should the layer be in the mode for use (`eval`) here?",
        ),
    ),
    ExplanationRule("batch-norm-width", _R, r"^running_mean should contain (\d+) elements not (\d+)", _batch_norm),
    ExplanationRule(
        "group-norm-width",
        _R,
        r"^Expected weight to be a vector of size equal to the number of channels in input, but got weight of "
        r"shape (\[[\d, ]{1,40}\]) and input of shape (\[[\d, ]{1,60}\])",
        with_operands(
            "{called} has a weight of {0}, one for each channel, and the tensor it got has the shape {1}: its "
            "axis 1 must be as long.",
            "Which axis of yours holds the channels?",
        ),
    ),
    ExplanationRule(
        "norm-shape",
        _R,
        r"Given normalized_shape=\[([\d, ]{1,60})\], expected input with shape \[\*, [\d, ]+\], but got input "
        r"of size\[([\d, ]{0,60})\]",
        with_operands(
            "{called} normalises over the last axis or axes, which must be [{0}], and the tensor it got has "
            "the shape [{1}].",
            "How many numbers has a row of yours?",
        ),
    ),
    ExplanationRule(
        "convolution-channels",
        _R,
        r"^Given groups=\d+, weight of size \[[\d, ]+\], expected input\[([\d, ]{1,60})\] to have (\d+) "
        r"channels, but got (\d+)",
        _channels,
    ),
    ExplanationRule(
        "convolution-axes",
        _R,
        r"^Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to \w+, but got input of size: \[([\d, ]{0,60})\]",
        _axes,
    ),
    ExplanationRule(
        "kernel-too-long",
        _R,
        r"^Calculated padded input size per channel: \(([\d x]+)\)\. Kernel size: \(([\d x]+)\)|^(\w+)\(\) "
        r"Invalid computed output size",
        lambda s, m: (
            f"The window of {called(s)} on line {s.line} is longer than the axis that it moves along"
            f"{f': {m[2]} against {m[1]}' if m[1] else ''}.{s.details()} Which axis should it move along, and "
            f"how long is that?"
        ),
    ),
    ExplanationRule(
        "layer-dtype",
        f"{_R} {_V}",
        r"^(?:Input type|RNN input dtype) \((?:torch\.)?([\w ]+?)\) (?:and (?:bias|weight) type|does not match "
        r"weight dtype) \((?:torch\.)?([\w ]+?)\)",
        _dtype,
    ),
    ExplanationRule(
        "recurrent-width",
        _R,
        r"^input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
        with_operands(
            "{called} was made for rows of {0} numbers (`input_size`), and the last axis of what it got has {1}.",
            "Which of the two sizes is the one you meant?",
        ),
    ),
    ExplanationRule(
        "recurrent-state",
        _R,
        r"^Expected hidden(?:\[\d\])? size (\([\d, ]{1,40}\)), got (\[[\d, ]{1,40}\])",
        with_operands(
            f"The state that {{called}} begins with must have the shape {{0}} (layers, batch, numbers), and "
            f"has {{1}}. {_ORDER}",
            "Which size of the batch is right?",
        ),
    ),
    ExplanationRule(
        "recurrent-one-state",
        "IndexError",
        r"^index 1 is out of bounds for dimension 0 with size 1",
        lambda s, m: (
            f"An LSTM begins with two states, (h, c), as a pair, and {called(s)} on line {s.line} got one "
            f"tensor in its "
            f"place.{s.details()} What is the second?"
            if _kind_of(s) == "LSTM" or "LSTM" in s.callee or "LSTM" in s.called
            else None
        ),
    ),
    ExplanationRule(
        "layer-above-zero",
        _V,
        r"^(\w+) must be (?:greater than zero|positive)",
        with_operands("`{0}` of {called} must be above 0.", "Which number did you mean?"),
    ),
    ExplanationRule(
        "dropout-share",
        _V,
        r"^dropout (?:probability has to be between 0 and 1, but got (-?[\d.]{1,20})|should be a number in "
        r"range \[0, 1\])",
        lambda s, m: (
            f"`p` of {called(s)} on line {s.line} is the share of numbers that are set to 0, so it lies between 0 and 1"
            f"{f'; it got {m[1]}' if m[1] else ', and what it got does not'}. Is it a percentage, or a number "
            f"of something else?"
        ),
    ),
    ExplanationRule(
        "dropout-text",
        _T,
        r"^'<' not supported between instances of 'str' and 'int'",
        lambda s, m: (
            f"{called(s)} on line {s.line} takes a share between 0 and 1, a number, and got a text: what "
            f"stands in quotes "
            f"is no number. Which number should it be?"
            if "Dropout" in s.callee or s.callee.endswith("dropout")
            else None
        ),
    ),
    ExplanationRule(
        "flatten-order",
        _R,
        r"^flatten\(\) has invalid args: start_dim cannot come after end_dim",
        with_operands(
            "{called} joins the axes from `start_dim` to `end_dim`, and the first of the two comes after the second.",
            "Which axes should become one, counted from 0?",
        ),
    ),
    ExplanationRule(
        "unflatten-sizes",
        _R,
        r"^unflatten: Provided sizes (\[[\d, -]{1,60}\]) don't multiply up to the size of dim (\d+) \((\d+)\)",
        with_operands(
            "{here} splits axis {1}, which has {2}, into {0}, and those multiplied do not give {2}.",
            "Which of the sizes should be another?",
        ),
    ),
    ExplanationRule(
        "given-weight-shape",
        _A,
        r"^Shape of weight does not match num_embeddings and embedding_dim",
        with_operands(
            "The numbers that {called} is to begin with have another shape than (`num_embeddings`, `embedding_dim`).",
            "How many rows and columns do they have?",
        ),
    ),
    ExplanationRule(
        "pretrained-axes",
        _A,
        r"^Embeddings parameter is expected to be 2-dimensional",
        with_operands(
            "{called} makes a table of a tensor with two axes, rows and the numbers in each, and got one with "
            "another number of axes.",
            "Which axis is missing or too many?",
        ),
    ),
    ExplanationRule(
        "layers-in-list",
        _T,
        r"^(ModuleList|ModuleDict|ParameterList)\.\w+ should be called with an iterable(?: of key/value "
        r"pairs)?, but got (\w+)",
        with_operands(
            "`{0}` is made of a list of layers, and on line {line} it got one by itself, a {1}.",
            "Which brackets make a list of it?",
        ),
    ),
    ExplanationRule(
        "sequential-of-list",
        _T,
        r"^list is not a Module subclass",
        lambda s, m: (
            f"{called(s)} on line {s.line} takes layers one after the other, and got a list of them as one "
            f"thing. Which "
            f"brackets are too many, or which sign unpacks a list in a call?"
            if s.callee.endswith("Sequential")
            else None
        ),
    ),
    ExplanationRule(
        "function-among-layers",
        _T,
        r"^(?:torch\._VariableFunctionsClass|torch\.nn\.functional|builtins?|torch\._C\.\w+)\.(\w+) is not a "
        r"Module subclass",
        with_operands(
            "{called} holds layers, and `{0}` is a function: it is called, and keeps nothing.",
            "Which layer does the same?",
        ),
    ),
    ExplanationRule(
        "list-is-no-layer",
        "NotImplementedError",
        r"^Module \[(ModuleList|ModuleDict)\] is missing",
        with_operands(
            "`{0}` only keeps layers so that their parameters are found; it does not say in which order they "
            "are called, so it cannot be called itself.",
            "Who goes through its layers, one after the other?",
        ),
    ),
    ExplanationRule(
        "layer-number",
        "IndexError",
        r"^index (-?\d+) is out of range$",
        with_operands(
            "{here} asks for layer number {0}, and there are not so many: they are counted from 0.",
            "How many layers are in it?",
        ),
    ),
    ExplanationRule(
        "name-with-dot",
        "KeyError",
        r"(module|buffer|parameter) name can\\?'t contain \\?[\"']\.|(module|buffer|parameter) name can\\?'t be empty",
        lambda s, m: (
            f"The name of a {m[1] or m[2]} on "
            f"line {s.line} {'has a point in it, which joins the names of nested layers' if m[1] else 'is empty'}. "
            f"What else could it be called?"
        ),
    ),
    ExplanationRule(
        "buffer-kind",
        _T,
        r"^cannot assign '([\w.]+)' object to buffer '(\w+)'",
        with_operands(
            "A buffer of a layer is a tensor, and `{1}` would be of the kind {0}.",
            "Should it be a plain attribute, or become a tensor?",
        ),
    ),
)
