"""A real `kelolo serve` and a real Chromium in front of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from app.db import Database
from app.services.accounts import access
from app.settings import ROOT

# Chromium talks to nobody but the server under test.
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
PATIENCE_MS = 30_000  # a worker that has just been started needs some seconds to load torch
AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
EXERCISE = "token-and-position-embeddings"
PAGE = f"/exercises/{EXERCISE}"
COURSES = (ROOT / "exercises" / "embeddings", ROOT / "tests" / "courses" / "questions")

GOOD = """\
token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
"""
BAD = GOOD.replace("torch.arange(block_size)", "x")

SCREENS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "light phone": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
    "dark phone": {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}},
}

OpenPage = Callable[..., Page]
SignIn = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the browser. Where there is none, the tests are skipped, except in CI, where that is a failure."""
    path = shutil.which("chromium")
    if path is None:
        reason = "there is no Chromium on this machine (on Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of the server under test."""
    return tmp_path_factory.mktemp("data")


@contextmanager
def serving(data: Path, courses: Path, *, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the whole of Kelolo, as `make run` does; give its address and its process."""
    environment = os.environ | {"KELOLO_EXERCISES": str(courses)}
    program = str(Path(sys.executable).parent / "kelolo")
    command = [program, "serve", "--port", str(port), "--workers", "1", "--data", str(data)]
    with (data / "serve.log").open("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert process.stdout is not None
        said = process.stdout.readline()
        log.seek(0)
        assert "is ready on " in said, log.read()
        yield said.split()[-1], process
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture(scope="session")
def courses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two courses."""
    folder = tmp_path_factory.mktemp("courses")
    for course in COURSES:
        shutil.copytree(course, folder / course.name)
    return folder


@pytest.fixture(scope="session")
def address(data_folder: Path, courses: Path) -> Iterator[str]:
    """Serve on a free port with an empty data folder."""
    with serving(data_folder, courses) as (found, _):
        yield found


@pytest.fixture
def complaints() -> list[str]:
    """Collect what the console of the pages says has gone wrong. A test that provokes an error clears it."""
    return []


@pytest.fixture
def open_page(chromium: Browser, address: str, complaints: list[str]) -> Iterator[OpenPage]:
    """Return a function that opens a page as a new visitor. At the end nothing may have gone wrong in any."""
    contexts = []

    def open_one(path: str = PAGE, **options: Any) -> Page:  # noqa: ANN401  Playwright's own
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def sign_in(open_page: OpenPage, data_folder: Path) -> SignIn:
    """Return a function that opens a browser in which somebody is signed in."""

    def enter(email: str, role: str, screen: str = "light") -> Page:
        with Database(f"sqlite:///{data_folder / 'kelolo.db'}").write() as session:
            access.add_user(session, email=email, role=role)
            link = f"/sign-in/{access.create_link(session, email=email)}"
        page = open_page(link, **SCREENS[screen])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda address: "/sign-in/" not in address)
        return page

    return enter


def editor_of(page: Page) -> Locator:
    """Return the editor, as a screen reader names it."""
    return page.get_by_role("textbox", name="Your code")


def write(page: Page, code: str) -> None:
    """Type code into the editor in place of what is there, key by key, as a person would."""
    editor_of(page).wait_for()
    page.wait_for_load_state()  # its script too: the field that gives way to the editor would be clicked for ever
    editor_of(page).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.type(code.rstrip("\n"))


def violations(page: Page) -> list[str]:
    """Return what axe has to say about the page as it stands."""
    # Colours fade in, and axe has to judge those that stay. They are not waited for: one that the browser has put off
    # is never over. A cursor blinks for ever.
    page.evaluate("""document.getAnimations()
        .filter((one) => one.effect.getComputedTiming().iterations !== Infinity)
        .forEach((one) => one.finish())""")
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{rule['id']}: {rule['help']} {[node['target'] for node in rule['nodes']]}" for rule in found["violations"]
    ]
