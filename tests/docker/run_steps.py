"""
Carry out a Dockerfile without Docker, in plain folders: for machines on which no engine runs.

    python3 tests/docker/run_steps.py build --base ROOT --out FOLDER [--share PATH …]
    python3 tests/docker/run_steps.py run FOLDER [--data DIR] [--env NAME=VALUE …] -- COMMAND …

`build` takes each stage's `FROM` to be a copy of ROOT, a Debian with Python made by `debootstrap`, and carries out the
very lines of the Dockerfile: COPY by .dockerignore, RUN by chroot. `run` starts a command in the result as the image
would: its user, its variables, no capability, no new privileges, everything read-only but /tmp and /data. Both need
root. What they do not show is what only an engine has: its seccomp and AppArmor profiles, its networks and cgroups.

FOLDER/image is the last stage; FOLDER/image.json what the image says of itself.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PASSED_ON = re.compile(r"(PIP_|https?_proxy|no_proxy|SSL_CERT|REQUESTS_CA)", re.IGNORECASE)
"""What a machine needs to reach its package index; an image keeps none of it."""
BASE_PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"


@dataclass
class Stage:
    """One `FROM`, as far as it has come."""

    name: str
    root: Path
    workdir: str = "/"
    user: str = "0:0"
    env: dict[str, str] = field(default_factory=lambda: {"PATH": BASE_PATH})
    command: list[str] = field(default_factory=list)


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each with its arguments, comments left out and lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.strip().partition(" ") for line in joined.splitlines() if line.strip()]
    return [(word.upper(), rest.strip()) for word, _, rest in found]


def is_in_context(path: str, rules: list[str]) -> bool:
    """Say whether .dockerignore lets a file through: the last rule that fits decides, for it or a folder above it."""
    parts = path.split("/")
    above = ["/".join(parts[: length + 1]) for length in range(len(parts))]
    kept = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        fits = any(
            fnmatch(parts[-1] if pattern.startswith("**/") else one, pattern.removeprefix("**/")) for one in above
        )
        if fits or (pattern.startswith("**/") and any(fnmatch(part, pattern.removeprefix("**/")) for part in parts)):
            kept = rule.startswith("!")
    return kept


def context(folder: Path) -> list[str]:
    """Return what of a folder a build can see."""
    lines = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, check=True, text=True).stdout
    return [path for path in tracked.split("\0") if path and is_in_context(path, rules)]


class Builder:
    """Carries out a Dockerfile's instructions one after another."""

    def __init__(self, *, base: Path, out: Path, share: list[str]) -> None:
        """Remember where everything is."""
        self.base, self.out, self.share = base, out, share
        self.stages: list[Stage] = []
        self.visible = context(ROOT)

    @property
    def stage(self) -> Stage:
        """The one that is being built."""
        return self.stages[-1]

    def build(self, text: str) -> Stage:
        """Carry out all of it; return the last stage."""
        for word, rest in instructions(text):
            print(f"{word} {rest}"[:150], flush=True)
            step = getattr(self, f"do_{word.lower()}", None)
            if step is None:
                sys.exit(f"This does not know how to carry out {word}.")
            step(rest)
        return self.stage

    def do_from(self, rest: str) -> None:
        """Begin a stage with a copy of the base."""
        name = rest.split()[2] if " AS " in rest.upper() else "image"
        root = self.out / name
        subprocess.run(["cp", "--archive", "--reflink=auto", self.base, root], check=True)
        shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
        self.stages.append(Stage(name, root))

    def do_workdir(self, rest: str) -> None:
        """Make the folder, and stay there."""
        self.stage.workdir = rest
        (self.stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def do_env(self, rest: str) -> None:
        """Keep variables for what follows and for the image."""
        for one in shlex.split(rest):
            name, _, value = one.partition("=")
            self.stage.env[name] = value

    def do_user(self, rest: str) -> None:
        """Be that user from here on."""
        self.stage.user = rest

    def do_cmd(self, rest: str) -> None:
        """Keep the command."""
        self.stage.command = json.loads(rest)

    def do_healthcheck(self, rest: str) -> None:
        """Look that it is a command that needs no shell."""
        json.loads(rest.partition("CMD")[2])

    def do_volume(self, rest: str) -> None:
        """Nothing to do: `run` mounts it."""

    def do_expose(self, rest: str) -> None:
        """Nothing to do: there is no network of its own."""

    def do_copy(self, rest: str) -> None:
        """Copy from the context, as .dockerignore leaves it, or from an earlier stage."""
        *options, target = shlex.split(rest)
        sources = [one for one in options if not one.startswith("--")]
        (origin,) = [one.removeprefix("--from=") for one in options if one.startswith("--from=")] or [""]
        place = self.stage.root / (
            target.lstrip("/") if target.startswith("/") else f"{self.stage.workdir}/{target}".lstrip("/")
        )
        for source in sources:
            if origin:
                (stage,) = [one for one in self.stages if one.name == origin]
                copy(stage.root / source.lstrip("/"), place, into=target.endswith("/"))
            else:
                self._copy_from_context(source, place, into=target.endswith("/"))

    def _copy_from_context(self, source: str, place: Path, *, into: bool) -> None:
        files = [path for path in self.visible if path == source or path.startswith(f"{source}/")]
        if not files:
            sys.exit(f"{source} is not in the context: .dockerignore keeps it out.")
        for path in files:
            inside = path.removeprefix(source).lstrip("/")
            end = place / inside if inside else (place / Path(source).name if into else place)
            end.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, end)

    def do_run(self, rest: str) -> None:
        """Run it by the shell, in the stage's own world."""
        passed = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
        env = self.stage.env | passed | {"HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
        entered(self.stage.root, ["/bin/sh", "-c", rest], env=env, workdir=self.stage.workdir, share=self.share)


def copy(source: Path, place: Path, *, into: bool) -> None:
    """Copy a file or a folder's content with all that belongs to it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        subprocess.run(
            ["cp", "--archive", f"{source}/.", f"{place}/"] if place.is_dir() else ["cp", "-a", source, place],
            check=True,
        )
        return
    if into:
        place.mkdir(parents=True, exist_ok=True)
    shutil.copy(source.resolve(), place)


def entered(root: Path, command: list[str], *, env: dict[str, str], workdir: str, share: list[str]) -> None:
    """Run a command as root in a root of its own, with its own processes."""
    lines = ["set -e", *mounts(root)]
    for path in share:
        inside = f"{root}{path}"
        lines.append(
            f"mkdir -p {inside} && mount --rbind -o ro {path} {inside}"
            if Path(path).is_dir()
            else f"mkdir -p {Path(inside).parent} && touch {inside} && mount --bind -o ro {path} {inside}"
        )
    inside = shlex.quote(f"cd {workdir} && exec {shlex.join(command)}")
    lines.append(f"exec chroot {root} /usr/bin/env -i {assigned(env)} /bin/sh -c {inside}")
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", "\n".join(lines)], check=True)


def mounts(root: Path) -> list[str]:
    """Return what mounts the file systems that every container has."""
    devices = ["null", "zero", "full", "random", "urandom", "tty"]
    return [
        f"mount -t proc proc {root}/proc",
        f"mount -t tmpfs -o mode=755 tmpfs {root}/dev",
        *(f"touch {root}/dev/{one} && mount --bind /dev/{one} {root}/dev/{one}" for one in devices),
        f"mkdir {root}/dev/shm && mount -t tmpfs -o mode=1777,size=64m tmpfs {root}/dev/shm",
        f"ln -s /proc/self/fd {root}/dev/fd",
    ]


def assigned(env: dict[str, str]) -> str:
    """Return variables as `env` takes them."""
    return shlex.join(f"{name}={value}" for name, value in env.items())


def run(out: Path, command: list[str], *, data: str, env: dict[str, str]) -> int:
    """Run a command as the image would: not root, no capability, all read-only but /tmp and /data."""
    image = json.loads((out / "image.json").read_text(encoding="utf-8"))
    root = out / "image"
    uid, gid = image["user"].split(":")
    lines = ["set -e", f"mount --bind {root} {root}", *mounts(root)]
    lines.append(f"mount -t tmpfs -o mode=1777,size=64m tmpfs {root}/tmp")
    kept = (
        f"mount --bind {data} {root}/data"
        if data
        else f"mount -t tmpfs -o mode=711,uid={uid},gid={gid},size=512m tmpfs {root}/data"
    )
    lines += [kept, f"mount -o remount,bind,ro {root}"]
    dropped = f"setpriv --reuid {uid} --regid {gid} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all"
    inside = shlex.quote(f"cd {image['workdir']} && exec {shlex.join(command or image['command'])}")
    lines.append(f"exec chroot {root} {dropped} /usr/bin/env -i {assigned(image['env'] | env)} /bin/sh -c {inside}")
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child=SIGTERM", "sh", "-c", "\n".join(lines)], check=False
    ).returncode


def main() -> int:
    """Read what is wanted, and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    build = what.add_parser("build")
    build.add_argument("--base", type=Path, required=True)
    build.add_argument("--out", type=Path, required=True)
    build.add_argument("--share", action="append", default=[], help="a path of this machine, to be seen while building")
    start = what.add_parser("run")
    start.add_argument("out", type=Path)
    start.add_argument("--data", default="")
    start.add_argument("--env", action="append", default=[])
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, command = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    if args.what == "run":
        return run(args.out.resolve(), command, data=args.data, env=dict(one.split("=", 1) for one in args.env))
    out = args.out.resolve()
    out.mkdir(parents=True)
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    image = Builder(base=args.base.resolve(), out=out, share=args.share).build(text)
    facts = {"user": image.user, "env": image.env, "workdir": image.workdir, "command": image.command}
    (out / "image.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
