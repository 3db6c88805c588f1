"""`kelolo user add`, `kelolo user link` and `kelolo token create`."""

import argparse
import sys

from app.cli.configuration import open_database, settings_from
from app.models import Role
from app.services.accounts import access


def describe(parser: argparse.ArgumentParser, command: str) -> None:
    """Say what one of the commands takes."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    if command == "token":
        _describe_tokens(actions)
        return
    add = actions.add_parser("add", help="make an account, or find it there already")
    add.add_argument("email", metavar="EMAIL")
    add.add_argument("--role", required=True, choices=[role.value for role in Role if role is not Role.GUEST])
    add.set_defaults(handler=add_user)
    link = actions.add_parser("link", help="print an address that signs an account in, once, within an hour")
    link.add_argument("email", metavar="EMAIL")
    link.set_defaults(handler=create_link)


def _describe_tokens(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    create = actions.add_parser("create", help="make a token for an account, and print it alone")
    create.add_argument("email", metavar="EMAIL")
    create.add_argument("--label", default="", help="what it is for")
    create.add_argument("--scopes", metavar="WORDS", help='what it may do, such as "read write"; default: all of use')
    create.add_argument("--days", metavar="N", type=int, help="until it expires; default: never")
    create.set_defaults(handler=create_token)


def add_user(args: argparse.Namespace) -> int:
    """Make the account and say so."""
    with open_database(args).write() as session:
        account = access.add_user(session, email=args.email, role=args.role)
        email = account.email
        print(f"{email} is {_with_article(account.role)}.")
    sys.stderr.write(
        f"To sign in, open the address that this prints; it is good once, for an hour: kelolo user link {email}\n"
    )
    return 0


def create_link(args: argparse.Namespace) -> int:
    """Print the address alone."""
    settings = settings_from(args)
    with open_database(args).write() as session:
        raw = access.create_link(session, email=args.email)
    print(f"{settings.site_url}/sign-in/{raw}")
    return 0


def create_token(args: argparse.Namespace) -> int:
    """Print the token alone, so that a script can take it as it is."""
    with open_database(args).write() as session:
        token = access.create_token(session, email=args.email, label=args.label, scopes=args.scopes, days=args.days)
    print(token)
    return 0


def _with_article(role: Role) -> str:
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role.value}"
