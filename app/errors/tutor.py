"""What can be wrong with a question to the tutor, or with its answer; and hints that are not there."""

from app.errors.base import AppError


class MessageClash(AppError):
    """The same client_message_id came with a different question."""

    status = 409
    title = "That message id was used before"
    message = "This client_message_id was already used for a different question. Send a new one."


class MessageUnderWay(AppError):
    """The message is being answered by another server, so there is nothing to send along yet."""

    status = 409
    title = "Just being answered"
    message = "This message is just being answered. Ask again in {retry_after_s} seconds with the same id."


class QuestionRefused(AppError):
    """A question that the tutor cannot be asked; `reason` is a whole sentence."""

    status = 422
    title = "That cannot be asked"
    message = "{reason}"


class NoHints(AppError):
    """There is no such hint."""

    status = 404
    title = "There is no such hint"
    message = "{reason}"


class AnswerFailed(AppError):
    """The tutor's engine gave no whole answer."""

    status = 502
    title = "The tutor could not answer"
    message = "The tutor gave no whole answer ({reason}). You were not charged: ask again, or look at the hints."
