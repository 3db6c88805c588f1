"""What is read of a course is its own: no link, no pipe, no device leads out of it, and no file is endless."""

import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.authoring import ExerciseFaults, load_course, load_exercise
from app.authoring.files import MAX_FILE_BYTES, CourseFiles, FileRefused
from app.cli.content import import_courses
from app.db import Database
from app.settings import ROOT

SECRET = "what only the server may read"  # noqa: S105  a text that must not show


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return a copy of a course, in a folder of courses, beside a file that is none of its own."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    shutil.copytree(ROOT / "tests" / "courses" / "questions", tmp_path / "courses" / "questions")
    load_course(tmp_path / "courses" / "questions")
    return tmp_path / "courses" / "questions"


def of_suffix(course: Path, name: str) -> Path:
    """Return one of the course's files."""
    return min(course.rglob(name))


def linked_to_secret(file: Path) -> None:
    """Put a link to a file outside in its place."""
    secret = next(one / "secret" for one in file.parents if (one / "secret").exists())
    file.unlink()
    file.symlink_to(secret)


def linked_relatively(file: Path) -> None:
    """Put a link to a file of the course itself in its place."""
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def in_linked_folder(file: Path) -> None:
    """Move its folder away, and put a link to it there."""
    moved = file.parents[2] / f"moved-{file.parent.name}"
    file.parent.rename(moved)
    file.parent.symlink_to(moved)


def piped(file: Path) -> None:
    """Put a pipe there, that nobody writes into."""
    file.unlink()
    os.mkfifo(file)


def listening(file: Path) -> None:
    """Put a socket there."""
    file.unlink()
    with socket.socket(socket.AF_UNIX) as listener, suppress(OSError):
        here = Path.cwd()
        os.chdir(file.parent)  # the name of a socket is short
        try:
            listener.bind(file.name)
        finally:
            os.chdir(here)


def foldered(file: Path) -> None:
    """Put a folder there."""
    file.unlink()
    file.mkdir()


def endless(file: Path) -> None:
    """Make it longer than anything that is read, without taking the room."""
    os.truncate(file, 100 * 1024**3)


def not_text(file: Path) -> None:
    """Put bytes there that are no UTF-8."""
    file.write_bytes(b"a\n\xff\xfe\n")


TRAPS: list[tuple[Callable[[Path], None], str]] = [
    (linked_to_secret, "link"),
    (linked_relatively, "link"),
    (in_linked_folder, "link"),
    (piped, "pipe"),
    (listening, "socket"),
    (foldered, "folder"),
    (endless, "bytes"),
    (not_text, "UTF-8"),
]


@pytest.mark.parametrize(("trap", "word"), TRAPS)
@pytest.mark.parametrize("name", ["lesson.md", "exercise.yaml"])
def test_file_that_is_not_the_courses_own_is_refused(
    course: Path, name: str, trap: Callable[[Path], None], word: str
) -> None:
    """With its name and the reason, and with nothing of what it leads to."""
    file = of_suffix(course, name)
    trap(file)
    with pytest.raises(ExerciseFaults) as refused:
        load_course(course)
    assert SECRET not in str(refused.value)
    mine = [one for one in refused.value.faults if one.file == str(file)]
    assert mine
    assert word in mine[0].message


@pytest.mark.parametrize(("trap", "word"), TRAPS)
def test_text_in_another_file_is_read_the_same_way(course: Path, trap: Callable[[Path], None], word: str) -> None:
    """`{file: …}` is one more way to a file."""
    exercise = of_suffix(course, "exercise.yaml").parent
    (exercise / "texts").mkdir()
    (exercise / "texts" / "task.md").write_text("The task.")
    lines = (exercise / "exercise.yaml").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("statement:"))
    end = next(number for number, line in enumerate(lines[start + 1 :], start + 1) if line[:1].isalpha())
    lines[start:end] = ["statement: {file: texts/task.md}"]
    (exercise / "exercise.yaml").write_text("\n".join(lines))
    assert load_exercise(exercise).statement == "The task."
    trap(exercise / "texts" / "task.md")
    with pytest.raises(ExerciseFaults, match=word) as refused:
        load_exercise(exercise)
    assert "texts/task.md" in str(refused.value)


def test_course_folder_that_is_a_link_is_refused(course: Path, tmp_path: Path) -> None:
    """Found in a folder of courses; one that is named on the command line may be reached by a link."""
    course.rename(tmp_path / "elsewhere")
    course.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ExerciseFaults, match="link"):
        import_courses(Database(f"sqlite:///{tmp_path}/kelolo.db"), course.parent)
    assert load_course(course).lessons


def test_device_is_refused_unopened(tmp_path: Path) -> None:
    """A terminal or a tape acts when it is opened."""
    with pytest.raises(FileRefused, match="device"):
        CourseFiles(Path("/dev")).read(Path("/dev/null"))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "a\0b", "."])
def test_way_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    """By whatever name."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "course" / "a").mkdir(parents=True)
    with pytest.raises(FileRefused):
        CourseFiles(tmp_path / "course").read(tmp_path / "course" / name)


def test_file_that_becomes_a_link_meanwhile_is_never_followed(tmp_path: Path) -> None:
    """It is swapped for a link and back as fast as can be, and what is read is the file's own or nothing."""
    (tmp_path / "secret").write_text(SECRET)
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "own").write_text("own")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for kind in ("link", "own"):
                os.link(folder / kind, folder / "new", follow_symlinks=False)
                (folder / "new").rename(folder / "lesson.md")
                (folder / "new").unlink(missing_ok=True)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for _ in range(2000):
            with suppress(FileRefused):
                seen.add(CourseFiles(folder).read(folder / "lesson.md"))
    finally:
        done.set()
        swapping.join()
    assert seen <= {"own"}


def test_files_of_a_course_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number and in bytes."""
    monkeypatch.setattr("app.authoring.files.MAX_FILES", 2)
    (tmp_path / "a").write_text("a" * 100)
    files = CourseFiles(tmp_path)
    for _ in range(2):
        files.read(tmp_path / "a")
    with pytest.raises(FileRefused, match="at most 2 files"):
        files.read(tmp_path / "a")
    monkeypatch.setattr("app.authoring.files.MAX_BYTES", 150)
    files = CourseFiles(tmp_path)
    files.read(tmp_path / "a")
    with pytest.raises(FileRefused, match="together"):
        files.read(tmp_path / "a")
    assert MAX_FILE_BYTES > 100
