"""What a plan, a limit or a code refuses."""

from app.errors.base import AppError


class SignUpFirst(AppError):
    """A guest has nothing that lasts, so there is nothing to put a plan on."""

    status = 403
    title = "Please sign up first"
    message = "A code belongs to an account with an e-mail address. Sign up, and enter it then: it stays good."


class LimitRefused(AppError):
    """A limit or a grant that cannot be; `reason` is a whole sentence."""

    status = 422
    title = "That limit cannot be set"
    message = "{reason}"


class CodeRefused(AppError):
    """A code that gives nothing. Which of the reasons it is, only its owner could know."""

    status = 422
    title = "That code does not work"
    message = "This code is not known, was used before, or is too old. Check each character, and ask whoever gave it."


class CodeNotNeeded(AppError):
    """The code is good, but would be wasted; `reason` is a whole sentence. It is not spent."""

    status = 409
    title = "You do not need this code"
    message = "{reason} The code was not used: you can give it to somebody else."


class QuotaSpent(AppError):
    """An account asked for more tutor answers than its plan covers."""

    status = 429
    title = "No tutor messages left"
    message = (
        "You have used all {limit} tutor messages of the {plan} plan{span}. "
        "Checking your code, its diagnosis and the hints go on as before."
    )


class TooManyChecks(QuotaSpent):
    """An account sent more checks in a minute than its plan allows: a program that has run wild."""

    title = "Too many checks"
    message = (
        "The {plan} plan allows {limit} checks a minute. Nothing was stored; try again in {retry_after_s} seconds."
    )


class TooManyRuns(AppError):
    """An account has code run more often in a minute than anybody can read what comes of it."""

    status = 429
    title = "Too many runs"
    message = "Code is run {limit} times a minute at most. Nothing was stored; try again in {retry_after_s} seconds."


class TooManyStreams(AppError):
    """Streams and waits are opened faster than anybody can look at what they tell."""

    status = 429
    title = "Too many at once"
    message = (
        "You, or others in your network, open more connections to wait for verdicts than can be served. "
        "What was sent is safe; please look again in {retry_after_s} seconds."
    )


class StorageSpent(AppError):
    """An account has had as much stored in a day, with what came of it, as it may."""

    status = 429
    title = "No more room today"
    message = (
        "What you have sent today, with its results, fills the {mib} MiB that you have for a day. Nothing was stored; "
        "there is room again {wait}, at midnight UTC."
    )


class TutorFailing(QuotaSpent):
    """Too many answers to one account came to nothing today; it was charged for none of them."""

    title = "The tutor is having a bad day"
    message = (
        "{limit} answers to you have failed today, and you were charged for none. Please come back tomorrow; "
        "checking your code, its diagnosis and the hints go on as before."
    )


class AnswersPending(AppError):
    """All messages that are left are reserved for answers under way; one that fails is given back."""

    status = 429
    title = "Your last messages are being answered"
    message = (
        "All tutor messages you have left are just being answered. If one fails you get it back: "
        "try again in {retry_after_s} seconds."
    )
