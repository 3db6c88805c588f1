"""What developers' tools are told to do is what the project does by itself: hooks, the workflow, the container."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from app.settings import ROOT


def read(name: str) -> Any:  # noqa: ANN401  YAML
    """Return what a YAML file says."""
    return YAML(typ="safe").load((ROOT / name).read_text(encoding="utf-8"))


HOOKS = [hook for one in read(".pre-commit-config.yaml")["repos"] for hook in one["hooks"]]


def recipe(target: str) -> list[str]:
    """Return the commands of a target of the Makefile, with the environment's folder written out."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", text, flags=re.MULTILINE)
    return [line.removeprefix("\t@").replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]


def tool_of(command: str) -> str:
    """Return the program and what it is to do, without options and files: `ruff check`, `mypy`."""
    words = [Path(word).name for word in shlex.split(command) if not word.startswith("-")]
    return " ".join(words[:2]) if words[0] in {"ruff", "biome"} else words[0]


def some_files(hook: dict[str, Any]) -> list[str]:
    """Return two files that a hook is for; none where it looks at everything by itself."""
    if not hook.get("pass_filenames", True):
        return []
    kinds = hook.get("types") or hook["types_or"]
    ending = {"python": "py", "javascript": "js", "css": "css", "html": "html"}[kinds[0]]
    folders = {"py": "app/errors", "js": "static", "html": "templates"}
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folders[ending]).rglob(f"*.{ending}"))[:2]


def test_hooks_are_what_make_check_runs() -> None:
    """In another order, and of the files of a commit alone; the formatter formats where `make check` only looks."""
    assert sorted(tool_of(hook["entry"]) for hook in HOOKS) == sorted(tool_of(line) for line in recipe("check"))


def test_hooks_need_nothing_from_elsewhere() -> None:
    """Their tools are those of the environment, so that a commit and the workflow never disagree."""
    assert {one["repo"] for one in read(".pre-commit-config.yaml")["repos"]} == {"local"}
    for hook in HOOKS:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/"), hook["id"]


QUICK = [hook for hook in HOOKS if hook["id"] != "mypy"]  # which takes half a minute, and runs in `make check`


@pytest.mark.parametrize("hook", QUICK, ids=[hook["id"] for hook in QUICK])
def test_hook_runs_on_what_a_commit_hands_to_it(hook: dict[str, Any]) -> None:
    """And finds nothing in what is committed."""
    command = [*shlex.split(hook["entry"]), *some_files(hook)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_hook_finds_a_fault(tmp_path: Path) -> None:
    """A hook that is green whatever it is given would be none."""
    bad = {"ruff-check": ("bad.py", "import os\n"), "djlint": ("bad.html", '<a href="http://x.y"><img></a>\n')}
    for hook in HOOKS:
        if hook["id"] in bad:
            name, text = bad[hook["id"]]
            (tmp_path / name).write_text(text, encoding="utf-8")
            command = [*shlex.split(hook["entry"]), str(tmp_path / name)]
            ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert ran.returncode == 1, hook["id"]


def test_workflow_runs_what_the_project_runs() -> None:
    """One script decides, here as there; before it the machine is only given what the script would install."""
    workflow = read(".github/workflows/ci.yml")
    (job,) = workflow["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps[-1] == ".ci/run"
    assert not any("pytest" in step or "make" in step for step in steps)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def packages(text: str) -> set[str]:
    """Return the packages that a text has apt-get install."""
    return set(re.search(r"apt-get install -y [^&]*?--no-install-recommends ([\w .-]+)", text)[1].split())  # type: ignore[index]


def test_workflow_and_container_have_what_the_script_looks_for() -> None:
    """Or else it would stop where it may not install anything."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    needed = set(re.findall(r"missing\+=\((\w+)\)", script))
    assert needed == {"chromium", "bubblewrap", "libseccomp2", "make"}
    container = (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    assert packages(container) == needed
    (job,) = read(".github/workflows/ci.yml")["jobs"].values()
    steps = " ; ".join(step.get("run", "") for step in job["steps"])
    # The runner has make, and a Chrome that is given Chromium's name.
    assert packages(steps) == needed - {"chromium", "make"}
    assert "/usr/local/bin/chromium" in steps


def test_workflow_and_container_have_the_same_python() -> None:
    """The oldest that the project runs with, as the image has it."""
    (job,) = read(".github/workflows/ci.yml")["jobs"].values()
    (version,) = [step["with"]["python-version"] for step in job["steps"] if "python-version" in step.get("with", {})]
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    container = json.loads(re.sub(r"^\s*//[^\n]*$", "", text, flags=re.MULTILINE))
    assert f"python:{version}-" in container["image"]
    assert f"python:{version}-" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f'requires-python = ">={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert container["postCreateCommand"] == "make env"
