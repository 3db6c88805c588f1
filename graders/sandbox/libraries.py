"""
Which files a run may read: Python's own, torch's, and those of what torch says it needs. Nothing else of what is
installed.

The environment that the platform runs in holds much more: a web server, its certificates, what tests are made with. So
a run is given a list of what it may read rather than the folder of all packages:

- Of the installed distributions, those that the harness names and, from there, whatever they declare as requirements
  without an extra (`packages`). What torch imports late, sympy or jinja2 or networkx, is among them by its own word.
- Of Python's library all but the folders for other packages and for tests of Python itself (`standard_library`).
- Of the system's folders the shared libraries themselves, and not what other programs keep beside them
  (`system_libraries`): Debian has a folder of Python packages there.

A warm process finds packages through a folder of links (`make_view`), one for each entry: so it can be listed at any
time without the names of the others being seen, and `importlib.metadata` knows these distributions and no more.
"""

import re
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_NEEDED = ("torch", "numpy", "safetensors")
_NEEDLESS = {"setuptools"}  # torch builds extensions with it, which a run has no compiler for
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
_NOT_PYTHONS = {"site-packages", "dist-packages", "test", "idlelib", "ensurepip", "turtledemo", "__pycache__"}
_SYSTEM_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_OF_THE_MACHINE = "*-linux-*"  # Debian's folders for libraries of one architecture
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale")


@lru_cache(maxsize=1)
def packages() -> tuple[Path, ...]:
    """
    Files and folders in the folder of packages that a run may read.

    Raises:
        OSError: torch is not installed in a way that says which files it has.
    """
    found: dict[str, tuple[Path, ...]] = {}
    waiting = list(_NEEDED)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name in _NEEDLESS:
            continue
        found[name], needed = _distribution(name)
        waiting += needed
    if not found["torch"]:
        raise OSError("torch is not installed beside Kelolo, or without the list of its files (RECORD)")
    return tuple(dict.fromkeys(path for paths in found.values() for path in paths))


def _distribution(name: str) -> tuple[tuple[Path, ...], list[str]]:
    """What a distribution has put into the folder of packages, and which others it needs; nothing if it is not here."""
    try:
        installed = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return (), []
    lines = (installed.read_text("RECORD") or "").splitlines()
    names = dict.fromkeys(line.split(",")[0].strip('"').split("/")[0] for line in lines)
    folder = Path(str(installed.locate_file(""))).resolve()
    entries = [folder / one for one in names if one not in ("", "..", "__pycache__") and not one.endswith(".pth")]
    needed = [one for one in installed.requires or [] if "extra ==" not in one]
    return tuple(one for one in entries if one.exists()), [
        found[0] for one in needed if (found := _REQUIREMENT.match(one))
    ]


def make_view(folder: Path) -> None:
    """Fill a folder with links to the packages. Raises OSError."""
    folder.mkdir(mode=0o755, exist_ok=True)
    for path in packages():
        link = folder / path.name
        if not link.is_symlink():
            link.symlink_to(path)


def interpreter() -> Path:
    """The program itself, not an environment's link to it."""
    return Path(sys.executable).resolve()


def standard_folders() -> list[Path]:
    """Where Python's library is."""
    return list(dict.fromkeys(Path(sysconfig.get_path(one)).resolve() for one in ("stdlib", "platstdlib")))


def standard_library() -> list[Path]:
    """The files and folders of Python's library."""
    return [path for folder in standard_folders() for path in folder.iterdir() if path.name not in _NOT_PYTHONS]


def covered() -> list[Path]:
    """The folders inside of Python's library that are not of it."""
    return [folder / one for folder in standard_folders() for one in sorted(_NOT_PYTHONS) if (folder / one).is_dir()]


def system_libraries() -> list[Path]:
    """Shared libraries, of the system and of Python, and what the loader and the C library look for."""
    folders = {Path(one).resolve() for one in (*_SYSTEM_FOLDERS, f"{sys.base_prefix}/lib") if Path(one).is_dir()}
    found = [path for folder in sorted(folders) for path in _libraries(folder)]
    return [*found, *(Path(one) for one in _SYSTEM_FILES if Path(one).exists())]


def _libraries(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()):
        if path.match("*.so*") or (path.match(_OF_THE_MACHINE) and path.is_dir()):
            yield path


def readable(view: Path) -> list[Path]:
    """All that a run may read of libraries, where `view` has been made: also without any metadata at hand."""
    linked = [path.resolve() for path in view.iterdir()]
    return [view, *linked, *standard_library(), *system_libraries()]


def listable(view: Path) -> list[Path]:
    """Folders whose entries a run may list, so that what is added to them meanwhile breaks no import."""
    installed = {path.resolve().parent for path in view.iterdir()}
    return [folder for folder in standard_folders() if not any(one.is_relative_to(folder) for one in installed)]
