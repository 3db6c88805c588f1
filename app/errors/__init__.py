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
    │   ├── FirstAdminMade    404  the link for the first administrator, where there is an administrator
    │   └── FirstAdminLinkOld 404  a link for the first administrator that is not the one printed last
    ├── LinkSpent          410  a sign-in link that was used, is too old, or never was
    │   └── MailLinkSpent  410  the same of a link that was mailed
    ├── AccountExists      409  `kelolo user add` with an e-mail that has another role
    ├── IdempotencyClash   409  an Idempotency-Key used again with another body
    ├── MessageClash       409  a client_message_id used again with another text
    ├── MessageUnderWay    409  a tutor message that is just being answered elsewhere
    ├── CodeNotNeeded      409  a code that would give an account no more than it has
    ├── DraftChanged       409  a change to a version of a draft that is not the stored one
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
    ├── NoHints            404  hints of an exercise that has none, or a number that none has
    ├── QuotaSpent         429  as much was used as the plan allows
    │   ├── TooManyChecks  429  more checks in a minute than the plan allows
    │   └── TutorFailing   429  too many answers came to nothing today
    ├── TooManyStreams     429  streams and waits opened faster than anybody can look at them
    ├── TooManyRuns        429  code run more often in a minute than anybody can read
    ├── StorageSpent       429  as much was stored in a day as an account may
    ├── AnswersPending     429  all that is left of a quota is just being answered
    ├── AnswerFailed       502  the tutor gave no whole answer; the message is not charged
    ├── EmailRefused       422  something that is not an e-mail address
    ├── RoleRefused        422  a role that does not exist
    ├── SignInBusy         503  too many passwords are being looked at
    ├── QueueFull          503  too many submissions wait already; nothing was stored
    │   └── GuestsQueueFull 503 too many of guests wait already
    ├── TooManyWaiting     429  too many of guests from one network wait already
    └── LeaseLost          500  a worker's claim on a job has passed to another; never shown

`ExerciseFaults`, raised for exercise files that cannot be read, stands beside the
readers in `app.authoring`; what mail servers and other sites refuse, in `app.clients`.

A student's wrong code is not an error but a `Report`. Our own faults are ordinary
exceptions: logged, retried, and never shown as the user's.
"""

from app.errors.accounts import (
    AccountBlocked,
    AccountExists,
    EditedMeanwhile,
    EmailRefused,
    EmailTaken,
    FirstAdminLinkOld,
    FirstAdminMade,
    LastAdmin,
    LinkSpent,
    MailLinkSpent,
    OwnAccount,
    PasswordRefused,
    PasswordWrong,
    RoleRefused,
    ScopeMissing,
    SignInBusy,
    SignInRefused,
    TokenRefused,
    TooManyTries,
)
from app.errors.base import (
    AppError,
    BadRequest,
    Forbidden,
    GuestsQueueFull,
    LeaseLost,
    NotFound,
    NotSignedIn,
    QueueFull,
    TooManyWaiting,
)
from app.errors.drafts import DraftChanged
from app.errors.limits import (
    AnswersPending,
    CodeNotNeeded,
    CodeRefused,
    LimitRefused,
    QuotaSpent,
    SignUpFirst,
    StorageSpent,
    TooManyChecks,
    TooManyRuns,
    TooManyStreams,
    TutorFailing,
)
from app.errors.submissions import (
    IdempotencyClash,
    KeyRefused,
    NothingToRun,
    SourceNotText,
    SourceRefused,
    SourceTooLarge,
)
from app.errors.tutor import (
    AnswerFailed,
    MessageClash,
    MessageUnderWay,
    NoHints,
    QuestionRefused,
)

__all__ = [
    "AccountBlocked",
    "AccountExists",
    "AnswerFailed",
    "AnswersPending",
    "AppError",
    "BadRequest",
    "CodeNotNeeded",
    "CodeRefused",
    "DraftChanged",
    "EditedMeanwhile",
    "EmailRefused",
    "EmailTaken",
    "FirstAdminLinkOld",
    "FirstAdminMade",
    "Forbidden",
    "GuestsQueueFull",
    "IdempotencyClash",
    "KeyRefused",
    "LastAdmin",
    "LeaseLost",
    "LimitRefused",
    "LinkSpent",
    "MailLinkSpent",
    "MessageClash",
    "MessageUnderWay",
    "NoHints",
    "NotFound",
    "NotSignedIn",
    "NothingToRun",
    "OwnAccount",
    "PasswordRefused",
    "PasswordWrong",
    "QuestionRefused",
    "QueueFull",
    "QuotaSpent",
    "RoleRefused",
    "ScopeMissing",
    "SignInBusy",
    "SignInRefused",
    "SignUpFirst",
    "SourceNotText",
    "SourceRefused",
    "SourceTooLarge",
    "StorageSpent",
    "TokenRefused",
    "TooManyChecks",
    "TooManyRuns",
    "TooManyStreams",
    "TooManyTries",
    "TooManyWaiting",
    "TutorFailing",
]
