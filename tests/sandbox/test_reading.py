"""A student's process reads Python, torch and what torch needs, and nothing else of what is installed."""

import sysconfig
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import fastapi
import pytest

from graders.report import Report
from graders.sandbox import libraries

Run = Callable[[str], Report]
NOT_ITS_OWN = ["fastapi", "sqlalchemy", "certifi", "authlib", "uvicorn", "pytest", "hypothesis", "pyseccomp", "pip"]
HONEST = """
import torch._dynamo, torch.utils.data, torch.fx, torch.distributions, torch.optim.lr_scheduler, torch.testing
import torch.nn.utils.parametrize, torch.onnx, torch.profiler, torch.special, torch.func, functorch
import numpy.testing, numpy.random, numpy.linalg, sympy, networkx, jinja2, typing_extensions, safetensors.torch
import asyncio, ssl, sqlite3, decimal, lzma, bz2, ctypes, unittest, doctest, csv, zoneinfo, json, logging.config
print(torch.compile(lambda value: value + 1, backend="eager")(torch.ones(1)).item(), zoneinfo.ZoneInfo("Europe/Berlin"))
"""


def test_what_honest_code_imports_is_there(run: Run) -> None:
    """Torch with all that it imports late, NumPy with its tests' tools, and Python's library."""
    report = run(HONEST)
    assert report.error is None
    assert report.output == "2.0 Europe/Berlin\n"


def test_what_is_there_stays_so_when_caches_are_dropped(run: Run) -> None:
    """Looking for modules anew finds the same, though the folder of all packages is closed."""
    report = run(
        "import importlib\nimportlib.invalidate_caches()\nimport wave, mpmath, sympy\nprint(sympy.Symbol('x'))"
    )
    assert report.output == "x\n"


@pytest.mark.parametrize("name", NOT_ITS_OWN)
def test_student_cannot_import_what_others_need(run: Run, name: str) -> None:
    """Neither the web's libraries nor those of tests, though they lie beside torch, and no version is told."""
    assert Path(str(metadata.distribution(name).locate_file(""))).is_dir()
    for code in (f"import {name}", f"import importlib.metadata as m\nm.version({name!r})"):
        report = run(code)
        assert report.error is not None
        assert report.error.type in ("ModuleNotFoundError", "PackageNotFoundError")


def test_student_cannot_list_what_is_installed(run: Run) -> None:
    """Only what it may read has a name for it."""
    told = run("import importlib.metadata as m\nprint(sorted({one.name.lower() for one in m.distributions()}))").output
    assert "'torch'" in told
    assert not [name for name in NOT_ITS_OWN if f"'{name}'" in told]


CLOSED = [
    Path(fastapi.__file__),
    Path(str(metadata.distribution("certifi").locate_file("certifi/cacert.pem"))),
    Path(
        str(metadata.distribution("fastapi").locate_file(f"fastapi-{metadata.version('fastapi')}.dist-info/METADATA"))
    ),
    *(folder / "test" / "support" / "__init__.py" for folder in libraries.standard_folders()),
    *(folder / "ensurepip" / "__init__.py" for folder in libraries.standard_folders()),
    Path("/usr/lib/os-release"),
    Path("/usr/bin/env"),
]


@pytest.mark.parametrize("path", [path for path in CLOSED if path.exists()], ids=lambda path: path.parent.name)
def test_student_cannot_read_files_of_others(run: Run, path: Path) -> None:
    """By their paths, not even with the folder of all packages on the path."""
    report = run(f"open({str(path)!r}, 'rb').read(1)")
    assert report.error is not None
    assert report.error.type in ("PermissionError", "FileNotFoundError")


def test_student_cannot_list_the_folder_of_all_packages(run: Run) -> None:
    """With namespaces it holds only what may be read; without them it is closed."""
    folder = sysconfig.get_path("purelib")
    report = run(f"import os\ntry: print(os.listdir({folder!r}))\nexcept OSError: print('closed')")
    assert report.error is None
    assert not [name for name in NOT_ITS_OWN if f"'{name}'" in report.output]


def test_student_cannot_import_from_the_folder_of_all_packages(run: Run) -> None:
    """Putting it on the path opens nothing."""
    report = run(f"import sys\nsys.path.insert(0, {sysconfig.get_path('purelib')!r})\nimport fastapi")
    assert report.error is not None
    assert report.error.type in ("ModuleNotFoundError", "PermissionError")


def test_packages_are_torch_and_what_it_needs() -> None:
    """The list is worked out from what the distributions say of themselves."""
    names = {path.name for path in libraries.packages()}
    assert {"torch", "numpy", "safetensors", "sympy", "mpmath", "networkx", "jinja2", "typing_extensions.py"} <= names
    assert not names & {
        "fastapi",
        "sqlalchemy",
        "certifi",
        "authlib",
        "_pytest",
        "pyseccomp.py",
        "kelolo",
        "setuptools",
    }
