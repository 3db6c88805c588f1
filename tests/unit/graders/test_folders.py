"""Folders are removed whatever a run has made of them."""

import os
import sys
from pathlib import Path

import pytest

from graders.sandbox.folders import remove_tree


def test_folders_deeper_than_any_path_are_removed(tmp_path: Path) -> None:
    """Twelve hundred levels: too long for a path, too deep for recursion."""
    levels, name = sys.getrecursionlimit() + 200, "deep"
    assert levels * len(f"/{name}") > os.pathconf(tmp_path, "PC_PATH_MAX")
    top = tmp_path / "top"
    top.mkdir()
    here = Path.cwd()
    os.chdir(top)
    try:
        for _ in range(levels):
            Path(name).mkdir()
            os.chdir(name)
    finally:
        os.chdir(here)
    remove_tree(top)
    assert not top.exists()


def test_closed_folders_are_removed(tmp_path: Path) -> None:
    """Folders that not even their owner may enter."""
    inner = tmp_path / "top" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    inner.chmod(0)
    inner.parent.chmod(0)
    remove_tree(tmp_path / "top")
    assert not (tmp_path / "top").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    """What a link leads to stays."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to(kept)
    (tmp_path / "top" / "lifted-0").mkdir()
    remove_tree(tmp_path / "top")
    assert (kept / "file").read_text() == "x"
    assert not (tmp_path / "top").exists()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_left_alone(tmp_path: Path, name: str) -> None:
    """Nothing there, or a file there, is no error."""
    (tmp_path / "file").write_text("x")
    remove_tree(tmp_path / name)
    assert (tmp_path / "file").exists()
