"""What every error that a user is told about has, and those that can come from anywhere."""

from typing import ClassVar


class AppError(Exception):
    """
    The base of every error that a user is told about.

    `message` is a format template; what it names is given as keyword arguments, kept in
    `fields` and available to whoever writes the answer (the HTTP layer adds some of them
    to its problem documents).
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"
    message: ClassVar[str] = "Something went wrong. Please try again."

    def __init__(self, **fields: object) -> None:
        """Keep the fields, and make the sentence from them."""
        self.fields = fields
        super().__init__(self.detail)

    @property
    def detail(self) -> str:
        """The sentence for the user: what happened, and what to do."""
        return self.message.format_map(self.fields)

    @property
    def kind(self) -> str:
        """A stable name for programs, such as `queue-full`."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class BadRequest(AppError):
    """A request that cannot be read; `reason` is a whole sentence."""

    status = 400
    title = "That request cannot be read"
    message = "{reason}"


class NotSignedIn(AppError):
    """The call needs an account, and none was named."""

    status = 401
    title = "Please sign in"
    message = "Send an API token as `Authorization: Bearer TOKEN`, or the session cookie."


class Forbidden(AppError):
    """The account is known, but may not do this."""

    status = 403
    title = "Not allowed"
    message = "Your account may not do this. Ask your instructor if you think it should."


class NotFound(AppError):
    """There is nothing there, or it is another's: the answer is the same for both."""

    status = 404
    title = "Not found"
    fact: ClassVar[str] = "There is no {what} called “{name}” here."
    """All that is to be said where there is no page to go to, as on a command line."""
    message = f"{fact} Check the address, or start from the contents."


class QueueFull(AppError):
    """As many submissions wait as the queue takes. Nothing was stored."""

    status = 503
    title = "Very busy just now"
    message = "{depth} submissions are waiting already. Yours was not stored: try again in {retry_after_s} seconds."


class GuestsQueueFull(QueueFull):
    """As many submissions of guests wait as all guests together may have in the queue. Nothing was stored."""

    message = (
        "{depth} submissions of visitors without an account are waiting, as many as they may have together. Yours was "
        "not stored: try again in {retry_after_s} seconds, or sign in, for others still have room."
    )


class TooManyWaiting(AppError):
    """As many submissions of guests wait from one network as may. Nothing was stored."""

    status = 429
    title = "Yours are waiting already"
    message = (
        "{waiting} submissions of visitors without an account are waiting from your network, and {limit} may. "
        "Yours was not stored: try again in {retry_after_s} seconds, or sign in."
    )


class LeaseLost(AppError):
    """
    A worker was late: its job was given to another, so its result is dropped.

    Only workers meet it. It is an AppError so that it cannot pass for a fault of ours.
    """

    title = "That job was given to another worker"
    message = "The claim on submission {submission_id} has passed to another worker."
