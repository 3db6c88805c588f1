"""What can go wrong with drafts."""

from app.errors.base import AppError


class DraftChanged(AppError):
    """A change was made to an older version of a draft; `text` and `version` are those that are stored."""

    status = 409
    title = "This draft was changed elsewhere"
    message = (
        "This draft was changed in another tab or on another device. "
        "Nothing was overwritten: save yours under another name."
    )
