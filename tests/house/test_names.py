"""
Things are found by their names: one word for one thing, one class for one name, few modules in a folder.

`docs/glossary.md` lists the words. What a word was before stands here, so that it does not come back.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from app.settings import ROOT
from tests.house.parsed import tree_of

MODULES_IN_A_FOLDER = 15
PRODUCT = ("app", "graders")
# What students and attackers wrote is kept as it is.
NOT_OURS = (ROOT / "tests" / "cases", ROOT / "tests" / "attacks")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that meant three things, or none to a stranger; `_` before them makes no difference.
RETIRED_CLASSES = _words("""
    Arrival Bells Belongings Brief Briefs Claim Deed Finding ForkOrder Found GradingOrder GradingRun Held Ladder
    Made Near Opening Order PasserBy Picture Place Places Proof Run Rung Situation Taken Texts Ticket Told ToldFault
    TrialOrder Walls Wanted Watch Wish
""")
RETIRED_FUNCTIONS = _words("""
    arrival belongings brief briefs deed facts figures held insist insisting ladder passer_by place places prove
    readings rehearse ring rung situation told welcome words
""")
RETIRED_MODULES = _words("""
    belongings bells briefs claims deeds entering figures held holes insisting ladder letters notices opening orders
    places proof readings rehearsal runs situation standing texts told walls
""")


def sources(*folders: str) -> Iterator[Path]:
    """Yield our Python files below these folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(path.is_relative_to(one) for one in NOT_OURS):
                yield path


def named(path: Path) -> str:
    """Return a file's path as one would write it."""
    return str(path.relative_to(ROOT))


def definitions() -> Iterator[tuple[Path, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every class and function of the product, with its file."""
    for path in sources(*PRODUCT):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def test_no_folder_has_too_many_modules() -> None:
    """What stands beside more than fourteen others is looked for and not found."""
    modules: defaultdict[str, int] = defaultdict(int)
    for path in sources("app", "graders", "tools", "tests"):
        modules[named(path.parent)] += path.name != "__init__.py"
    assert {folder: count for folder, count in modules.items() if count > MODULES_IN_A_FOLDER} == {}


def test_every_package_says_what_it_is_for() -> None:
    """In the first line of its docstring, which is one sentence and ends there."""
    silent = []
    for path in sources(*PRODUCT):
        package = path.parent / "__init__.py"
        text = ast.get_docstring(tree_of(package)) if package.exists() else None
        if not text or not re.fullmatch(r"\S[^\n]*[.:]", text.split("\n\n")[0]):
            silent.append(named(path.parent))
    assert sorted(set(silent)) == []


def test_no_class_name_stands_in_two_files() -> None:
    """Whoever looks for a class by its name finds one."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            files[node.name].add(named(path))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_retired_words_do_not_come_back() -> None:
    """Neither as the name of a module, nor of a class, nor of a function."""
    modules = [named(path) for path in sources(*PRODUCT) if path.stem.strip("_") in RETIRED_MODULES]
    retired = []
    for path, node in definitions():
        name = node.name.strip("_")
        words = RETIRED_CLASSES if isinstance(node, ast.ClassDef) else RETIRED_FUNCTIONS
        if name in words:
            retired.append(f"{named(path)}:{node.lineno} {node.name}")
    assert modules + retired == []


def rows() -> list[tuple[str, str, str]]:
    """Return the glossary's lines: term, what it is, and who bears it."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(\w+)` \|$", text, flags=re.MULTILINE)
    return [(term, meaning, bearer) for term, meaning, bearer in found]


def test_glossary_has_each_term_and_each_bearer_once() -> None:
    """A term that stands twice means two things, and a class that bears two terms is two things."""
    terms, bearers = [term for term, _, _ in rows()], [bearer for _, _, bearer in rows()]
    assert len(terms) >= 50
    assert sorted(set(terms)) == sorted(terms)
    assert sorted(set(bearers)) == sorted(bearers)


def test_every_bearer_of_the_glossary_is_there() -> None:
    """As a class of the product, and not under a name of before."""
    classes = {node.name for _, node in definitions() if isinstance(node, ast.ClassDef)}
    assert [bearer for _, _, bearer in rows() if bearer not in classes - RETIRED_CLASSES] == []
