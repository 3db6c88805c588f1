"""What can go wrong with accounts, and with who they belong to."""

from app.errors.base import AppError, Forbidden, NotFound


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


class SignInBusy(AppError):
    """So many sign in at once that a turn did not come in time."""

    status = 503
    title = "Many are signing in just now"
    message = "Many are signing in just now. Please try again in {retry_after_s} seconds."


class FirstAdminMade(NotFound):
    """A link that makes the first administrator, used or made up: the site has an administrator."""

    message = "This site has an administrator already, so this link leads nowhere any more. Sign in instead."


class FirstAdminLinkOld(NotFound):
    """A link that makes the first administrator, but not the one that is good now."""

    message = (
        "This link to become the first administrator is not good. Open the one that the server printed when it last "
        "started."
    )


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


class LinkSpent(AppError):
    """A sign-in link works once, and not for long."""

    status = 410
    title = "This link works no more"
    message = "A sign-in link can be used once, within an hour. Make a new one with `kelolo user link EMAIL`."


class MailLinkSpent(LinkSpent):
    """A link from a mail works once, and not for long, and only the newest few."""

    message = "A link from a mail can be used once, within an hour, and only the last three. Please ask for a new one."


class AccountExists(AppError):
    """The e-mail address belongs to an account with another role."""

    status = 409
    title = "That account exists"
    message = "There is already an account for {email}, and its role is {role}."


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
