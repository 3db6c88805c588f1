"""
What can go wrong that is the user's to put right.

    AppError                    never raised itself
    ├── BadRequest         400  a request that cannot be read as what it claims to be
    ├── NotSignedIn        401  an API call with neither a cookie nor a token that is known
    ├── Forbidden          403  a known account that may not do this
    │   ├── AccountBlocked 403  an account that an administrator has closed
    │   └── ScopeMissing   403  an API token that was not made for this
    ├── SignInRefused      401  an e-mail address and a password that do not belong together
    ├── PasswordWrong      403  somebody signed in who does not know the account's password
    ├── PasswordRefused    422  a password that nobody should have
    ├── EmailTaken         409  a sign-up with an address that has an account
    ├── TokenRefused       422  an API token that cannot be made as it is asked for
    ├── TooManyTries       429  signing in, signing up or resetting again and again
    ├── SignUpFirst        403  a guest wants what only an account with an e-mail address can have
    ├── NotFound           404  nothing there, or not yours (which must look the same)
    ├── LinkSpent          410  a sign-in link that was used, is too old, or never was
    │   └── MailLinkSpent  410  the same of a link that was mailed
    ├── AccountExists      409  `kelolo user add` with an e-mail that has another role
    ├── IdempotencyClash   409  an Idempotency-Key used again with another body
    ├── MessageClash       409  a client_message_id used again with another text
    ├── MessageUnderWay    409  a tutor message that is just being answered elsewhere
    ├── CodeNotNeeded      409  a code that would give an account no more than it has
    ├── EditedMeanwhile    409  a form about something that somebody else has changed since
    ├── LastAdmin          409  a change after which there would be no administrator
    ├── OwnAccount         409  an administrator's change of their own role, or block of their own account
    ├── SourceRefused      422  source that cannot be stored and graded
    │   ├── SourceTooLarge 413  over the limit on its size
    │   └── SourceNotText  422  holds NUL characters or lone surrogates
    ├── NothingToRun       422  a run of a question, which has no code
    ├── KeyRefused         422  an Idempotency-Key that is empty, too long or not printable
    ├── LimitRefused       422  a limit, a plan's end or a grant that cannot be
    ├── CodeRefused        422  a code that is unknown, spent or too old
    ├── QuestionRefused    422  a question to the tutor that is empty or too long
    ├── NoHints            404  hints of an exercise that has none, or a rung that is not there
    ├── QuotaSpent         429  as much was used as the plan allows
    │   ├── TooManyChecks  429  more checks in a minute than the plan allows
    │   └── TutorFailing   429  too many answers came to nothing today
    ├── AnswersPending     429  all that is left of a quota is just being answered
    ├── AnswerFailed       502  the tutor gave no whole answer; the message is not charged
    ├── EmailRefused       422  something that is not an e-mail address
    ├── RoleRefused        422  a role that does not exist
    ├── QueueFull          503  too many submissions wait already; nothing was stored
    └── LeaseLost          500  a worker's claim on a job has passed to another; never shown

`ExerciseFaults`, raised for exercise files that cannot be read, stands beside the
readers in `app.authoring`; what mail servers and other sites refuse, in `app.clients`.

A student's wrong code is not an error but a `Report`. Our own faults are ordinary
exceptions: logged, retried, and never shown as the user's.
"""

from typing import ClassVar


class AppError(Exception):
    """
    The base of every error that a user is told about.

    `message` is a format template; what it names is given as keyword arguments, kept in
    `facts` and available to whoever writes the answer (the HTTP layer adds some of them
    to its problem documents).
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"
    message: ClassVar[str] = "Something went wrong. Please try again."

    def __init__(self, **facts: object) -> None:
        """Keep the facts, and make the sentence from them."""
        self.facts = facts
        super().__init__(self.detail)

    @property
    def detail(self) -> str:
        """The sentence for the user: what happened, and what to do."""
        return self.message.format_map(self.facts)

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


class AccountBlocked(Forbidden):
    """An administrator has closed the account: no way in works."""

    title = "This account is blocked"
    message = "Nothing can be done with this account. If you think it should be open, ask whoever runs this site."


class ScopeMissing(Forbidden):
    """The token's scopes do not cover the call."""

    title = "This token may not do that"
    message = "This token has the scope “{scopes}”, and the call needs “{needed}”. Make another token for it."


class SignInRefused(AppError):
    """The address has no account, or the password is another: the answer is the same for both."""

    status = 401
    title = "That did not work"
    message = "This e-mail address and this password do not belong together."


class PasswordWrong(AppError):
    """Something that asks for the password again was given another."""

    status = 403
    title = "That is not the password"
    message = "That is not the password of this account."


class PasswordRefused(AppError):
    """A password that somebody wants to have will not do; `reason` is a whole sentence."""

    status = 422
    title = "That password will not do"
    message = "{reason}"


class EmailTaken(AppError):
    """There is an account with this address already."""

    status = 409
    title = "That address has an account"
    message = "There is an account with this e-mail address already. Sign in with it instead."


class TokenRefused(AppError):
    """A token cannot be made as it is asked for; `reason` is a whole sentence."""

    status = 422
    title = "That token cannot be made"
    message = "{reason}"


class TooManyTries(AppError):
    """More tries than anybody needs who means well."""

    status = 429
    title = "Too many tries"
    message = "That was tried too often. Please try again in {wait}."


class SignUpFirst(AppError):
    """A guest has nothing that lasts, so there is nothing to put a plan on."""

    status = 403
    title = "Please sign up first"
    message = "A code belongs to an account with an e-mail address. Sign up, and enter it then: it stays good."


class NotFound(AppError):
    """There is nothing there, or it is another's: the answer is the same for both."""

    status = 404
    title = "Not found"
    message = "There is no {what} called “{name}” here. Check the address, or start from the contents."


class LinkSpent(AppError):
    """A sign-in link works once, and not for long."""

    status = 410
    title = "This link works no more"
    message = "A sign-in link can be used once, within an hour. Make a new one with `kelolo user link EMAIL`."


class MailLinkSpent(LinkSpent):
    """A link from a mail works once, and not for long, and only the newest."""

    message = "A link from a mail can be used once, within an hour, and only the newest. Please ask for a new one."


class AccountExists(AppError):
    """The e-mail address belongs to an account with another role."""

    status = 409
    title = "That account exists"
    message = "There is already an account for {email}, and its role is {role}."


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


class EditedMeanwhile(AppError):
    """Somebody else has changed the same thing since the form was opened."""

    status = 409
    title = "Changed by somebody else meanwhile"
    message = "Somebody else has changed {what} since you opened this page. Nothing of yours was saved."


class LastAdmin(AppError):
    """Without an administrator nobody could ever make one again."""

    status = 409
    title = "That is the last administrator"
    message = "{email} is the only administrator who can sign in. Make another one first."


class OwnAccount(AppError):
    """Administrators leave their own role and block to others, so that no slip locks them out."""

    status = 409
    title = "That is your own account"
    message = "You cannot change your own role or block yourself. Ask another administrator."


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


class AnswerFailed(AppError):
    """The tutor's engine gave no whole answer."""

    status = 502
    title = "The tutor could not answer"
    message = "The tutor gave no whole answer ({reason}). You were not charged: ask again, or look at the hints."


class EmailRefused(AppError):
    """Something was given as an e-mail address that is none."""

    status = 422
    title = "That is not an e-mail address"
    message = "“{email}” is not an e-mail address. It should look like name@example.org."


class RoleRefused(AppError):
    """A role that does not exist."""

    status = 422
    title = "There is no such role"
    message = "There is no role “{role}”. Choose one of: {roles}."


class QueueFull(AppError):
    """As many submissions wait as the queue takes. Nothing was stored."""

    status = 503
    title = "Very busy just now"
    message = "{depth} submissions are waiting already. Yours was not stored: try again in {retry_after_s} seconds."


class LeaseLost(AppError):
    """
    A worker was late: its job was given to another, so its result is dropped.

    Only workers meet it. It is an AppError so that it cannot pass for a fault of ours.
    """

    title = "That job was given to another worker"
    message = "The claim on submission {submission_id} has passed to another worker."
