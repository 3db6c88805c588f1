"""
Code as tokens in one canonical form, for code that need not be complete, nor code at all.

The same is done to the protected text and to an answer, so what is lost here (case, quotes, the names of
modules) is lost to both, and two ways of writing the same become equal:

    tok = token_emb( x )                                      tok=token_emb(x)
    torch.nn.Embedding(embedding_dim=n, num_embeddings=v)     nn.Embedding(v, n)
    (token_emb)((x),)                                         token_emb.forward(x)
"""

import re

Tokens = tuple[str, ...]

_TOKEN = re.compile(r"[^\W\d]\w*|\d[\d_]*(?:\.\d+)?|\*\*|//|[=!<>:]=|[^\s\w'\"`\\$]")
_MODULES = frozenset({"torch", "nn", "functional", "f", "self", "np", "numpy"})
"""Names before a dot that say only where something is from."""
_SAME_AS_CALLED = frozenset({"forward", "call"})
"""Methods, without their underscores, that do what calling the object does."""
_SIGNATURES = {
    "embedding": ("num_embeddings", "embedding_dim"),
    "linear": ("in_features", "out_features", "bias"),
    "one_hot": ("tensor", "num_classes"),
    "softmax": ("input", "dim"),
}
_FROM_ZERO = frozenset({"arange", "range"})
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_COMMA = ","
_DEEPEST = 30
"""Of brackets in brackets."""
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset({"return", "in", "and", "or", "not", "if", "else", "for", "is", "lambda", "yield", "assert"})


def canonical(code: str) -> Tokens:
    """Return the tokens of a text in their canonical form."""
    tokens = _without_modules([_spelled(token) for token in _TOKEN.findall(code)])
    return tuple(_simplified(tokens))


def is_word(token: str) -> bool:
    """Say whether a token is a name or a keyword."""
    return _WORD.match(token) is not None


def open_brackets(tokens: Tokens) -> int:
    """Return how many brackets are open at the end."""
    depth = 0
    for token in tokens:
        if token in _CLOSES:
            depth += 1
        elif token in _CLOSES.values():
            depth = max(0, depth - 1)
    return depth


def _spelled(token: str) -> str:
    if token[0].isdigit():
        return token.replace("_", "")
    return token.casefold().strip("_") or token if is_word(token) else {":=": "="}.get(token, token)


def _without_modules(tokens: list[str]) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(tokens):
        if _says_nothing(tokens[position : position + 3]):
            position += 2
        else:
            kept.append(tokens[position])
            position += 1
    return kept


def _says_nothing(three: list[str]) -> bool:
    """Say whether these begin with a module and its dot, or a dot and a method that is the call itself."""
    match three:
        case [module, ".", _]:
            return module in _MODULES
        case [".", method, "("]:
            return method in _SAME_AS_CALLED
    return False


def _simplified(tokens: list[str]) -> list[str]:
    """Simplify what stands in brackets, from the innermost outwards; brackets that never close stay."""
    done: list[str] = []
    opened: list[int] = []
    for token in tokens:
        if token in _CLOSES:
            opened.append(len(done))
        elif opened and token == _CLOSES[done[opened[-1]]]:
            start = opened.pop()
            if len(opened) >= _DEEPEST:  # no code that anyone wrote, and the work would grow with the square
                done.append(token)
                continue
            inside, before = done[start + 1 :], done[start - 1] if start else ""
            done[start:] = _bracketed(done[start], inside, before)
            continue
        done.append(token)
    return done


def _bracketed(bracket: str, inside: list[str], before: str) -> list[str]:
    if bracket != "(":
        return [bracket, *_without_last_comma(inside), _CLOSES[bracket]]
    is_call = (is_word(before) and before not in _KEYWORDS) or before in {")", "]"}
    if not is_call:
        if _is_wrapped(inside) or (len(inside) == 1 and is_word(inside[0])):
            return inside  # brackets round brackets, or round a name
        return ["(", *inside, ")"]
    if _is_wrapped(inside):
        inside = inside[1:-1]
    return ["(", *_arguments(before, _without_last_comma(inside)), ")"]


def _without_last_comma(inside: list[str]) -> list[str]:
    return inside[:-1] if inside[-1:] == [","] else inside


def _is_wrapped(inside: list[str]) -> bool:
    """Say whether a pair of round brackets goes round all of it, which is no tuple."""
    if inside[:1] != ["("] or inside[-1:] != [")"]:
        return False
    depth = 0
    for position, token in enumerate(inside):
        depth += (token in _CLOSES) - (token in _CLOSES.values())
        if depth == 0 and position < len(inside) - 1:
            return False
        if depth == 1 and token == _COMMA:
            return False
    return True


def _arguments(function: str, inside: list[str]) -> list[str]:
    """Return arguments without their names, and where the names tell their places, in these."""
    given = _split(inside)
    if function in _FROM_ZERO and given[0] == ["0"] and len(given) > 1:
        given = given[1:]
    order = _SIGNATURES.get(function, ())
    keyed = [(one[0] if _is_keyed(one) else "", one[2:] if _is_keyed(one) else one) for one in given]
    if all(name in order for name, _ in keyed if name):
        positions = [order.index(name) if name else position for position, (name, _) in enumerate(keyed)]
        keyed = [one for _, one in sorted(zip(positions, keyed, strict=True), key=lambda pair: pair[0])]
    joined = [token for _, one in keyed for token in [",", *one]]
    return joined[1:]


def _is_keyed(argument: list[str]) -> bool:
    return argument[1:2] == ["="] and is_word(argument[0])


def _split(inside: list[str]) -> list[list[str]]:
    """Cut at the commas that are in no further brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in inside:
        depth += (token in _CLOSES) - (token in _CLOSES.values())
        if token == _COMMA and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
