"""What a run does not have: other devices, files, network, processes, endless memory; and a student's own `raise`."""

import ast
import re

from graders.judge.feedback.explanations.rules import ExplanationRule
from graders.judge.feedback.explanations.scene import Scene, quoted, walk

_R = "RuntimeError"
_ANY = "AssertionError RuntimeError AcceleratorError NotImplementedError"
_GIB = 1 << 30
_AT_ONCE_BYTES = 64 * 1024 * 1024  # what is asked for at once, and is smaller, was not too large by itself
_MIB = 1 << 20


def own_words(scene: Scene) -> str | None:
    """What is said of an exception that the student's own `raise` or `assert` has raised; None if it is another."""
    node = scene.node
    text = scene.message.strip().replace("`", "'")[:160]
    if isinstance(node, ast.Assert) or (isinstance(scene.node, ast.expr) and _is_asserted(scene)):
        check = node.test if isinstance(node, ast.Assert) else node
        said = f", with your text “{text}”" if text else ""
        described = scene.details() if isinstance(check, ast.AST) else ""
        what = quoted(check) if check is not None else ""
        return (
            f"Your own `assert` on line {scene.line} does not hold: {what} is not true there{said}.{described} "
            "What did you expect instead?"
        )
    if isinstance(node, ast.Raise) and not scene.message.startswith("exceptions must derive"):
        said = f", with your text “{text}”" if text else ""
        kind = scene.fault.type.replace("`", "'")
        return (
            f"Line {scene.line} raises this {kind} itself: it is your own `raise`{said}. "
            "What has to be true for that line not to be come to?"
        )
    return None


def _is_asserted(scene: Scene) -> bool:
    """Is the failing expression the condition of an `assert`, and what was raised its own?"""
    if scene.fault.type != "AssertionError" or isinstance(scene.node, ast.Call):
        return False
    return any(isinstance(one, ast.Assert) and (scene.node is one.test) for one in walk(scene.tree))


def _device(scene: Scene, match: re.Match[str]) -> str:
    return (
        f"There is no graphics card here, and line {scene.line} wants one: "
        "a run has one processor, and all tensors are on the CPU. "
        "Which part of the line says where to compute, and is it needed?"
    )


def _too_large(scene: Scene, match: re.Match[str]) -> str:
    asked = re.search(r"you tried to allocate (\d+) bytes", scene.message)
    size = int(asked[1]) if asked else 0
    loop = _loop_around(scene)
    if loop is not None and size < _AT_ONCE_BYTES:
        return _filled_by(scene, loop)
    much = (
        f" It asks for {size / _GIB:.1f} GiB at once."
        if size >= _GIB
        else f" It asks for {size // _MIB} MiB at once."
        if size
        else ""
    )
    return (
        f"Line {scene.line} makes something larger "
        f"than the memory that a run may use.{much}{scene.details()} Which size in it is far larger than it should be?"
    )


def _loop_around(scene: Scene) -> ast.For | ast.While | None:
    """The innermost loop of the student's text that the failing line is in the body of."""
    loops = [one for one in walk(scene.tree) if isinstance(one, ast.For | ast.While)]
    around = [one for one in loops if one.body[0].lineno <= scene.line <= (one.end_lineno or 0)]
    return max(around, key=lambda one: one.lineno, default=None)


def _filled_by(scene: Scene, loop: ast.For | ast.While) -> str:
    """No single thing was too large: a loop has kept a little more in each round."""
    text = (
        f"By line {scene.line} all the memory that a run may use was full, little by little: "
        f"the loop on line {loop.lineno} goes round and round, and what each round makes is kept."
    )
    if isinstance(loop, ast.While):
        asked = {one.id for one in ast.walk(loop.test) if isinstance(one, ast.Name)}
        stored = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        plain = not any(isinstance(one, ast.Call | ast.Attribute | ast.Subscript) for one in ast.walk(loop.test))
        if asked and plain and not asked & stored:
            names = " or ".join(f"`{name}`" for name in sorted(asked))
            return (
                f"{text} Its condition asks about {names}, and nothing in it changes that. What should each round do?"
            )
    return f"{text} When should it come to its end, and does all of it have to be kept?"


def _recursion(scene: Scene, _: re.Match[str]) -> str:
    function = scene.function
    calls = _called_in(function) if function is not None else set()
    if function is not None and function.name in calls:
        returns = [
            one for one in ast.walk(function) if isinstance(one, ast.If | ast.IfExp | ast.While | ast.For | ast.Try)
        ]
        only = "nothing in it stops that" if not returns else "the case that should stop it is never come to"
        return (
            f"`{function.name}` (line {function.lineno}) calls itself, "
            f"and {only}, so it goes on without end until Python gives up. "
            f"What did you want to be called inside `{function.name}`, or when should it stop?"
        )
    others = [
        one.name
        for one in scene.functions()
        if function is not None and one.name in calls and function.name in _called_in(one)
    ]
    if function is not None and others:
        return (
            f"`{function.name}` calls `{others[0]}`, which calls `{function.name}` again, without end. "
            "Which of the two should stop?"
        )
    return (
        f"Calls that lie inside each other have become too many on line {scene.line}: "
        "something leads back to itself, without end. "
        "Which method or function calls itself, perhaps by way of another?"
    )


def _called_in(function: ast.AST | None) -> set[str]:
    calls = [node.func for node in walk(function) if isinstance(node, ast.Call)] if function is not None else []
    found = {getattr(one, "attr", "") or getattr(one, "id", "") for one in calls}
    reads = {node.attr for node in walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    stores = {
        node.attr for node in walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return found | reads | {name for name in stores if isinstance(function, ast.FunctionDef) and name == function.name}


def _ambiguous(scene: Scene, _: re.Match[str]) -> str:
    sides = ""
    if re.search(r"\b(?:and|or|not)\b", scene.code):
        sides = " The words `and`, `or` and `not` ask it too."
    elif re.search(r"\bin\b", scene.code) and not scene.code.startswith("for"):
        sides = " The word `in` asks it too."
    return (
        f"Line {scene.line} asks whether a tensor of several numbers is true, "
        f"and each of them has an answer of its own.{sides}{scene.details()} Should all of them hold, or is one enough?"
    )


def _no_file(scene: Scene, match: re.Match[str]) -> str:
    name = (match[1] or "").replace("`", "'")[:60]
    data = " The data of this exercise are made by the starting code." if scene.setup_names else ""
    return (
        f"There is no file `{name}` here: "
        f"a run begins in an empty folder, and nothing can be put into it before.{data} "
        "Which of its names holds what you need?"
    )


def _refused(scene: Scene, _: re.Match[str]) -> str:
    network = re.search(r"socket|urllib|urlopen|requests|http|connect|hub\.|download", scene.code)
    processes = re.search(r"subprocess|os\.system|Popen|fork|multiprocessing|Process|num_workers|Pool", scene.code)
    if network:
        return (
            f"Line {scene.line} wants the network, and a run has no network: nothing can be downloaded. "
            "Which names of the starting code hold the data?"
        )
    if "num_workers" in scene.code or "DataLoader" in scene.code:
        return (
            f"The `DataLoader` on line {scene.line} starts worker processes, and a run is one process only. "
            "How many workers does it need if it loads by itself?"
        )
    if processes:
        return (
            f"Line {scene.line} starts another process, and a run is one process only. "
            "Threads and asyncio do work; is either needed here?"
        )
    return (
        f"A run may not do what line {scene.line} wants: "
        "it has no network, no other processes or programs and no files but its own. "
        "Threads and asyncio do work."
    )


def _compiled(scene: Scene, _: re.Match[str]) -> str:
    return (
        f"`torch.compile` on line {scene.line} needs a C++ compiler, or time and processes that a run does not have. "
        "The code gives the same numbers without it: is it needed?"
    )


RULES: tuple[ExplanationRule, ...] = (
    ExplanationRule("device-unknown",
         _R, r"Expected one of cpu, cuda", "There is no device of the name on line {line}. Here there is only one, "
              "`cpu`: does the device need to be named?"),
    ExplanationRule("devices-differ",
         _R, r"Expected all tensors to be on the same device|is not on the expected device", "The tensors on line "
              "{line} are on different devices, and only those on one can be worked on together. "
         "Where does each of them come from?"),
    ExplanationRule("no-cuda",
         _ANY, r"Torch not compiled with CUDA|Found no NVIDIA|No CUDA GPUs|[Ii]nvalid device.*cuda|CUDA is not "
              r"available|Attempting to deserialize object on a CUDA|"
         r"Cannot access accelerator device|PyTorch is not linked with support for cuda|no NVIDIA driver", _device),
    ExplanationRule("no-mps",
         _ANY, r"not linked with support for|MPS backend|from the 'MPS' backend|Cannot access accelerator", _device),
    ExplanationRule("device-meta", "RuntimeError NotImplementedError", r"meta tensor|on meta device",
         "A tensor on the device `meta` has a shape and no numbers, and line {line} needs numbers. "
         "Where should it get them?"),
    ExplanationRule("out-of-memory",
         "RuntimeError MemoryError OSError OutOfMemoryError",
         r"can't allocate memory|DefaultCPUAllocator|Cannot allocate memory|Unable to allocate|bad_alloc|not enough "
         r"memory|\[enforce fail a\Z", _too_large),
    ExplanationRule("memory", "MemoryError", r"", _too_large),
    ExplanationRule("size-overflow",
         _R, r"Storage size calculation overflowed|numel: integer multiplication overflow|Stride calculation "
              r"overflowed", _too_large),
    ExplanationRule("recursion", "RecursionError", r"", _recursion),
    ExplanationRule("ambiguous-truth",
         "RuntimeError ValueError",
         r"Boolean value of Tensor with (?:more than one|no) value|truth value of an array", _ambiguous),
    ExplanationRule("nested",
         "RuntimeError NotImplementedError",
         r"from the 'NestedTensor|nested tensor", "A nested tensor holds rows of different lengths, and what line "
              "{line} does is not known for it. "
         "Would an ordinary tensor with filled-up rows do?"),
    ExplanationRule("sparse",
         "RuntimeError NotImplementedError TypeError",
         r"from the 'Sparse\w*' backend|[Ss]parse tensors?|[Ss]parseTensorImpl|is sparse|layout.*[Ss]parse",
              "A tensor on line {line} is sparse: it keeps only the entries that are not 0, and many "
         "operations do not know that form. Does it need to be, and what makes it an ordinary one?"),
    ExplanationRule("compile-needs-compiler",
         "BackendCompilerFailed InvalidCxxCompiler InductorError RuntimeError TorchRuntimeError Unsupported",
         r"compiler|inductor|dynamo|C\+\+|Dynamo", _compiled),
    ExplanationRule("jit",
         "RuntimeError NotSupportedError FrontendError OSError UnsupportedNodeError",
         r"TorchScript|torch\.jit|Can't get source|is not supported in|aren't supported|could not get source|"
         r"[Cc]an't redefine",
         "TorchScript reads the code on line {line} as a language of its own, which is smaller than Python. "
         "Is scripting needed for this task?"),
    ExplanationRule("spawn",
         _R, r"bootstrapping phase|context has already been set|daemonic processes", "Line {line} starts other "
              "processes, and a run is one process only. Can it be done in this one?"),
    ExplanationRule("threads",
         _R, r"can't start new thread", "No more threads can be started: a run may have some 60 at a time, and they "
              "share one processor. Let those "
         "that are done end, or use a pool with fewer workers."),
    ExplanationRule("event-loop",
         _R, r"cannot be called from a running event loop|no running event loop|event loop is closed",
              "A coroutine runs in an event loop, and on line {line} there is none, or already one. `asyncio.run` "
         "begins one; inside it one waits with `await`."),
    ExplanationRule("no-file", "FileNotFoundError", r"No such file or directory(?:: ?b?'([^']*)')?", _no_file),
    ExplanationRule("network",
         "URLError HTTPError ConnectionError gaierror ConnectionRefusedError OSError TimeoutError",
         r"urlopen error|Name or service not known|Temporary failure|Network is unreachable|getaddrinfo|Connection "
         r"refused",
         "Line {line} wants the network, and a run has no network: nothing can be downloaded. "
         "Which names of the starting code hold the data?"),
    ExplanationRule("refused",
         "PermissionError OSError BlockingIOError",
         r"not permitted|Permission denied|Function not implemented|Resource temporarily unavailable", _refused),
    ExplanationRule("read-only",
         "OSError",
         r"Read-only file system|No space left|File too large", "A run may write only into its own folder, and only "
              "so much. What should be in that file on line {line}, and who would read it?"),
    ExplanationRule("is-folder",
         "IsADirectoryError NotADirectoryError FileExistsError",
         r"", "The name on line {line} is that of a folder, or of something that is there already. "
              "Is a file needed at all?"),
    ExplanationRule("input",
         "EOFError",
         r"EOF when reading", "Nothing can be typed in while the code runs, so `input()` on line {line} finds "
              "nothing to read. What value should stand there instead?"),
    ExplanationRule("interrupted",
         "KeyboardInterrupt", r"", "The code interrupted itself on line {line}. What did that line wait for?"),
    ExplanationRule("seed",
         "ValueError RuntimeError TypeError",
         r"manual_seed|seed must be|Overflow when unpacking long", "The number that line {line} hands over does not "
              "fit into 64 bits, or is no whole number. Which one do you mean?"),
    ExplanationRule("not-implemented",
         "NotImplementedError",
         r"", lambda s, _: (f"What line {s.line} calls is not there in torch for this kind of tensor or "
              f"layer.{s.details()} Which function does the "
         "documentation give for it?")),
    ExplanationRule("decode",
         "UnicodeDecodeError UnicodeEncodeError",
         r"", "Line {line} reads bytes as text, "
              "or writes text as bytes, with a table of signs that does not know them. "
              "Which encoding are they in?"),
)  # fmt: skip
