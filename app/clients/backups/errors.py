"""Why there is no backup, or nothing was put back."""

from app.errors import AppError


class BackupRefused(AppError):
    """A backup cannot be made or used as things stand. Nothing was changed; `reason` is a whole sentence."""

    status = 409
    title = "That was not done"
    message = "{reason}"
