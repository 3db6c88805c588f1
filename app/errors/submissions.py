"""What can be wrong with what is sent to be graded."""

from app.errors.base import AppError


class IdempotencyClash(AppError):
    """The same Idempotency-Key came with a different body."""

    status = 409
    title = "That key was used before"
    message = "This Idempotency-Key was already used for a different submission. Send a new key."


class SourceRefused(AppError):
    """The base of what can be wrong with submitted source, before it is graded."""

    status = 422
    title = "That code cannot be graded"
    message = "{reason}"


class SourceTooLarge(SourceRefused):
    """The source has more bytes than is allowed."""

    status = 413
    title = "That code is too long"
    message = "Your code has {size_bytes} bytes; at most {limit_bytes} can be graded. Please shorten it."


class SourceNotText(SourceRefused):
    """The source holds characters that no Python file can hold."""

    title = "That code is not plain text"
    message = "Your code holds {what} on line {line}. Delete it and try again."


class NothingToRun(AppError):
    """A question was to be run; it can only be answered."""

    status = 422
    title = "There is nothing to run"
    message = "“{exercise}” is a question, so there is no code to run. Send its answer as a submission instead."


class KeyRefused(AppError):
    """An Idempotency-Key that cannot be kept."""

    status = 422
    title = "That key cannot be used"
    message = "An Idempotency-Key is 1 to {limit} printable ASCII characters, for example a UUID."
