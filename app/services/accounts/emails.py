"""The texts of e-mails: each says why it comes, and what happens if it is ignored."""

from app.clients.mail import Mail

_FOOT = "\n\nKelolo, {site}\n"


def confirmation_email(to: str, *, link: str, site: str) -> Mail:
    """Ask whoever reads the mail of an address whether it is theirs."""
    return Mail(
        to=to,
        subject="Confirm your e-mail address",
        text="Somebody, most likely you, gave this address as theirs. To confirm that, open this link within an hour:"
        f"\n\n{link}\n\nIf it was not you, do nothing: without the link the address is not used."
        + _FOOT.format(site=site),
    )


def reset_email(to: str, *, link: str, site: str) -> Mail:
    """Let whoever reads the mail of an address choose a new password."""
    return Mail(
        to=to,
        subject="Choose a new password",
        text="Somebody, most likely you, asked for a new password. To choose one, open this link within an hour:"
        f"\n\n{link}\n\nIf it was not you, do nothing: your password stays as it is." + _FOOT.format(site=site),
    )


def address_taken_email(to: str, *, site: str) -> Mail:
    """Tell the owner of an account that somebody wanted to use its address again."""
    return Mail(
        to=to,
        subject="You have an account already",
        text="Somebody, most likely you, gave this address for an account, and there is one with it already.\n\n"
        f"Sign in: {site}/sign-in\nForgotten the password: {site}/forgot\n\n"
        "If it was not you, do nothing: nobody has got in." + _FOOT.format(site=site),
    )


def address_changed_email(to: str, *, site: str) -> Mail:
    """Tell the old address that the account has a new one."""
    return Mail(
        to=to,
        subject="Your e-mail address was changed",
        text="Your account has a new e-mail address from now on, so this is the last letter to this one.\n\n"
        "If it was not you, tell whoever runs the site at once." + _FOOT.format(site=site),
    )


def password_changed_email(to: str, *, site: str) -> Mail:
    """Tell an owner that the password was changed."""
    return Mail(
        to=to,
        subject="Your password was changed",
        text="The password of your account was changed, and all other browsers were signed out.\n\n"
        f"If it was not you, choose a new one at once: {site}/forgot" + _FOOT.format(site=site),
    )
