"""`kelolo grade` with many files: a line for each, whatever is in it, and an exit code for all."""

import json
import os
from pathlib import Path

import pytest

from app.cli import main

EXERCISE = "token-and-position-embeddings"
QUESTION = "memory-of-a-table"
RIGHT = """
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with right, wrong and broken code, deep down too, and with what is no code."""
    files = {
        "a-right.py": RIGHT.encode(),
        "deep/er/b-wrong.py": RIGHT.replace("tok + pos", "tok - pos").encode(),
        "c-raises.py": b"print(1 / 0)",
        "d-large.py": b"#" * 70_000,
        "e-binary.py": b"x = 1\n\xff\xfe",
        "f-[bold]\x1b[31m.py": b"token_emb = [",
        "notes.md": b"not code",
        ".hidden/g.py": b"not looked at",
    }
    for name, content in files.items():
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "class"


def test_folder_is_graded_a_json_line_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python files at any depth, once each and in order; one that cannot be graded says why, and the rest goes on."""
    named = [str(folder), str(folder / "a-right.py"), str(folder / "missing.py")]
    assert main(["grade", EXERCISE, *named, "--json", "--seed", "0123"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {Path(line["path"]).name: line for line in lines}
    assert [line["verdict"] for line in lines] == ["passed", "error", None, "failed", None, "error", None]
    assert list(told)[:1] == ["a-right.py"]
    assert Path(lines[3]["path"]) == folder / "deep/er/b-wrong.py"
    assert {line["seed"] for line in lines if line["verdict"]} == {"0123"}
    assert "70000" in told["d-large.py"]["problem"].replace(",", "")
    assert "UTF-8" in told["e-binary.py"]["problem"]
    assert "No such file" in told["missing.py"]["problem"]
    assert told["c-raises.py"]["error"]["line"] == 1


def test_several_files_are_shown_as_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row a file with verdict, checks and what comes first; a hostile name is written out; exit code 1."""
    names = ("a-right.py", "c-raises.py", "f-[bold]\x1b[31m.py")
    assert main(["grade", EXERCISE, *(str(folder / name) for name in names)]) == 1
    printed = capsys.readouterr().out
    assert "1 of 3 passed" in printed
    assert "ZeroDivisionError" in printed.replace("\n", "")
    assert "\x1b" not in printed


def test_all_passed_is_exit_code_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder in which everything is right."""
    os.rename(folder / "a-right.py", folder / "deep/er/b-wrong.py")  # noqa: PTH104
    assert main(["grade", EXERCISE, str(folder / "deep")]) == 0
    assert "1 of 1 passed" in capsys.readouterr().out


def test_answers_to_a_question_are_graded_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They may be texts; an empty folder is told as one."""
    (tmp_path / "one.txt").write_text("154,39 MB\n")
    (tmp_path / "two.py").write_text("12\n")
    (tmp_path / "empty").mkdir()
    assert main(["grade", QUESTION, str(tmp_path), str(tmp_path / "empty"), "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["verdict"] for line in lines] == ["passed", "failed", None]
    assert "holds no file" in lines[2]["problem"]


def test_single_file_is_told_as_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file: the whole report, over several lines; one that cannot be read is exit code 2."""
    assert main(["grade", EXERCISE, str(folder / "a-right.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "passed"
    assert main(["grade", EXERCISE, str(folder / "missing.py")]) == 2
    assert "cannot be read" in capsys.readouterr().err
