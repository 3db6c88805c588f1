"""Turning templates into HTML: the environment, and addresses of static files that may be cached for ever."""

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.settings import ROOT
from app.web.http import viewer
from app.web.http.markdown import render_line, render_markdown

STATIC = ROOT / "static"


class Pages:
    """Renders templates. Safe to share between threads."""

    def __init__(self, words: Mapping[str, Callable[..., object]] | None = None) -> None:
        """
        Read the fingerprints of all static files; templates are read when first used.

        Args:
            words: what templates call beside the filters `line` and `markdown`, by the name under which they do: as
                a filter or as a function.
        """
        self._assets = {str(file.relative_to(STATIC)): _fingerprint(file) for file in _files(STATIC)}
        self._environment = Environment(
            loader=FileSystemLoader(ROOT / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {**(words or {}), "line": render_line, "markdown": _markdown, "utc": utc}
        self._environment.globals |= {**(words or {}), "asset": self.asset}

    def asset(self, name: str) -> str:
        """Return the address of a static file, which changes with its content. Raises: KeyError."""
        return f"/static/{name}?v={self._assets[name]}"

    def text(self, template: str, **context: Any) -> str:  # noqa: ANN401  whatever the template shows
        """Render a template to text."""
        # What a student's code printed may hold half a surrogate pair, which no page can.
        context = {"viewing": viewer.current()} | context
        rendered = self._environment.get_template(template).render(**context)
        return rendered.encode("utf-8", "replace").decode("utf-8")

    def page(self, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:  # noqa: ANN401
        """Render a template as an answer. It is somebody's own, so no cache but the browser's keeps it."""
        headers = {"Cache-Control": "private, no-cache", "Vary": "Cookie, HX-Request"}
        return HTMLResponse(self.text(template, **context), status_code=status, headers=headers)


def utc(moment: datetime | str) -> str:
    """Write a moment, or one in ISO 8601, for people; a script turns it into the reader's own time where it can."""
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return read.strftime("%d %b %Y, %H:%M UTC")


def _markdown(text: str) -> Markup:
    return Markup(render_markdown(text, anchors=False))  # noqa: S704  sanitised there


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _fingerprint(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()[:12]
