"""
Pages with forms: what was refused is shown again, with errors beside their fields; and one goes on within the site.

Each form of a page has an id. A page is rendered with the one form that was refused, if one was, and a template asks
for each of its forms by id (`form_named`): that one comes with what was typed and what is wrong with it, all others are
as they should first look. `templates/forms.html` draws their fields.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Form, Query
from fastapi.responses import RedirectResponse, Response

from app.errors import (
    AppError,
    EditedMeanwhile,
    EmailRefused,
    EmailTaken,
    PasswordRefused,
    PasswordWrong,
    SignInRefused,
    TokenRefused,
)
from app.web.http.forms import FormRefused
from app.web.http.site import Site

_FIELDS: dict[type[AppError], str] = {
    EmailRefused: "email",
    EmailTaken: "email",
    PasswordRefused: "password",
    PasswordWrong: "current",
    SignInRefused: "form",
    TokenRefused: "label",
}
"""Beside which field an error stands; `form` is the form as a whole, as it is for all others."""
FieldErrors = tuple(_FIELDS)
"""What an account's page tells beside a field. Any other error is a page of its own."""
_NOTHING_SAVED = "Nothing was saved: see below what will not do."
_UNREADABLE = 422

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


def private(page: Response) -> Response:
    """Keep a page whose address or content is a secret out of caches, and its address out of what it loads."""
    page.headers.update({"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    return page


@dataclass(frozen=True)
class ShownForm:
    """One form as a template draws it."""

    id: str
    """One of its page's forms; it makes the ids of its elements unique."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """By field. What is not in here looks as it should first look."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """By field, a sentence; `form` is the form as a whole."""
    status: int = 200
    """Of the page that shows it."""

    @property
    def is_refused(self) -> bool:
        """Whether it was sent and could not be taken: such a form is not folded away."""
        return self.status != ShownForm.status


def refused(
    form_id: str, error: AppError | FormRefused, typed: Mapping[str, str] | None = None, *, field: str | None = None
) -> ShownForm:
    """
    Return a form that could not be taken, as its page shows it again.

    Args:
        form_id: which form of the page.
        error: why; of a `FormRefused` each field has a reason of its own.
        typed: what is to stand in its fields again: never a password, and nothing where somebody else was quicker,
            whose change is to be seen.
        field: beside which field the error stands, if not beside the usual one of its kind.
    """
    if isinstance(error, FormRefused):
        return ShownForm(form_id, typed or {}, {"form": _NOTHING_SAVED, **error.errors}, _UNREADABLE)
    kept = {} if typed is None or isinstance(error, EditedMeanwhile) else typed
    return ShownForm(form_id, kept, {field or _FIELDS.get(type(error), "form"): error.detail}, error.status)


def page_with_forms(
    site: Site,
    template: str,
    *,
    refused: ShownForm | None = None,
    **context: Any,  # noqa: ANN401  whatever the template shows
) -> Response:
    """Render a page that has forms, one of which may have been refused."""

    def form_named(form_id: str) -> ShownForm:
        return refused if refused is not None and refused.id == form_id else ShownForm(form_id)

    status = refused.status if refused else ShownForm.status
    return site.pages.page(template, status=status, refused=refused, form_named=form_named, **context)


def form_page(
    site: Site,
    template: str,
    error: AppError | None = None,
    *,
    typed: Mapping[str, str] | None = None,
    field: str | None = None,
    **context: Any,  # noqa: ANN401  whatever the template shows
) -> Response:
    """Show a page that is one form, with the id `form`: at first, or again with why it could not be taken."""
    again = refused("form", error, typed, field=field) if error else None
    return private(page_with_forms(site, template, refused=again, **context))
