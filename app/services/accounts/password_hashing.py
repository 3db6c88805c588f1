"""
Argon2 in processes of their own, which come after all others where the processor is short.

A thread of low priority would not do: between two calls of C it holds the interpreter's lock, and while it waits there
for the processor, behind whatever else the machine is at, the whole web server waits for it. A process has a lock of
its own. One is started when it is first needed, does one password after the other as it is told over a pipe, and ends
when the pipe does; one that has died is replaced. Where none can be started, the password is hashed where it is asked
for. This file is all that such a process runs: it imports nothing else of ours.
"""

import atexit
import json
import os
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import Any

from pwdlib.hashers.argon2 import Argon2Hasher

_NICE = 10
_END_WITHIN_S = 1.0


class HasherLost(Exception):
    """The process that was to hash has ended."""


class _Process:
    """One of them, as its parent sees it."""

    def __init__(self, costs: dict[str, int]) -> None:
        self._costs = costs
        # A group of its own: whoever ends the server with Ctrl-C has it end by its pipe. Not a session of its own: the
        # kernel shares the processor among sessions first (autogroup), and its low priority would count for nothing.
        self._child = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
            process_group=0,
        )

    def ask(self, **question: str | None) -> Any:  # noqa: ANN401  what JSON holds
        """Have it do something. Raises HasherLost."""
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:  # both are pipes
            raise HasherLost
        try:
            stdin.write(json.dumps(question | {"costs": self._costs}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):
            self.end()
            raise HasherLost
        return json.loads(line)

    def end(self) -> None:
        """Have it end, and do not wait for long."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._child.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class SubprocessHasher(Argon2Hasher):
    """Hashes as its base does, elsewhere. As many processes are started as are asked concurrently."""

    def __init__(self, *, time_cost: int, memory_cost: int, parallelism: int) -> None:
        """Start nothing yet."""
        super().__init__(time_cost, memory_cost, parallelism)
        self._costs = {"time_cost": time_cost, "memory_cost": memory_cost, "parallelism": parallelism}
        self._idle: deque[_Process] = deque()
        atexit.register(self.end)

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """Return the hash of a password."""
        try:
            result = self._ask(password=_hex(password), salt=None if salt is None else salt.hex())
        except (OSError, HasherLost):
            return super().hash(password, salt=salt)
        return str(result)

    def verify(self, password: str | bytes, hash: str | bytes) -> bool:  # noqa: A002  as the base has it
        """Say whether a password has this hash."""
        stored = hash if isinstance(hash, str) else hash.decode()
        try:
            return bool(self._ask(password=_hex(password), stored=stored))
        except (OSError, HasherLost):
            return super().verify(password, hash)

    def end(self) -> None:
        """End all processes that nobody waits for."""
        while self._idle:
            self._idle.pop().end()

    def _ask(self, **question: str | None) -> Any:  # noqa: ANN401
        """Ask a process that is there, or else a new one. Raises HasherLost, OSError."""
        try:
            process = self._idle.pop()
            result = process.ask(**question)
        except (IndexError, HasherLost):
            process = _Process(self._costs)
            result = process.ask(**question)
        self._idle.append(process)
        return result


def _hex(password: str | bytes) -> str:
    return (password.encode() if isinstance(password, str) else password).hex()


def _serve() -> None:
    """Do what is asked on standard input, a line each, until it ends."""
    os.nice(_NICE)
    hashers: dict[str, Argon2Hasher] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        hasher = hashers.setdefault(str(asked["costs"]), Argon2Hasher(**asked["costs"]))
        password = bytes.fromhex(asked["password"])
        if "stored" in asked:
            result: str | bool = hasher.verify(password, asked["stored"])
        else:
            result = hasher.hash(password, salt=bytes.fromhex(asked["salt"]) if asked["salt"] else None)
        print(json.dumps(result), flush=True)  # noqa: T201  this is how it answers


if __name__ == "__main__":
    _serve()
