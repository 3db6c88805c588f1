"""What forms have in common: errors stand beside their field, and one goes on only within the site."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Form, Query
from fastapi.responses import RedirectResponse, Response

from app.errors import (
    AppError,
    EmailRefused,
    EmailTaken,
    PasswordRefused,
    PasswordWrong,
    SignInRefused,
    TokenRefused,
)
from app.web.http.site import Site

_FIELDS: dict[type[AppError], str] = {
    EmailRefused: "email",
    EmailTaken: "email",
    PasswordRefused: "password",
    PasswordWrong: "current",
    SignInRefused: "form",
    TokenRefused: "label",
}
FieldErrors = tuple(_FIELDS)
"""What a page tells beside a field. Any other error is a page of its own."""

Word = Annotated[str, Form()]
NextInForm = Annotated[str, Form(alias="next")]
NextInQuery = Annotated[str, Query(alias="next")]
# Two slashes, or what a browser takes for them, would lead to another site.
_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def local(path: str) -> str:
    """Return where to go on, if that is on this site; otherwise the first page."""
    return path if _LOCAL.fullmatch(path) else "/"


def go_to(path: str) -> RedirectResponse:
    """Go on after something was done: a reload does not do it again."""
    return RedirectResponse(local(path), status_code=303, headers={"Cache-Control": "no-store"})


def errors_of(error: AppError, field: str | None = None) -> dict[str, str]:
    """Return an error as forms show it: by the field beside which it stands."""
    return {field or _FIELDS.get(type(error), "form"): error.detail}


def private(page: Response) -> Response:
    """Keep a page whose address or content is a secret out of caches, and its address out of what it loads."""
    page.headers.update({"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    return page


def form_page(site: Site, template: str) -> Callable[..., Response]:
    """Return a function that shows a form: with what was typed, and with what is wrong with it."""

    def show(error: AppError | None = None, *, field: str | None = None, **context: Any) -> Response:  # noqa: ANN401
        errors = errors_of(error, field) if error else {}
        return private(site.pages.page(template, status=error.status if error else 200, errors=errors, **context))

    return show
