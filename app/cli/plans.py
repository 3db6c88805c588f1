"""`kelolo plan list` and `kelolo plan set`."""

import argparse
from datetime import timedelta

from app.cli.configuration import open_database
from app.clock import utc_now
from app.services.administration import users
from app.services.plans import plans
from app.services.plans.codes import MOST_DAYS


def describe(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser("list", help="print each plan with what it allows")
    show.set_defaults(handler=list_plans)
    give = actions.add_parser("set", help="give an account a plan from now on")
    give.add_argument("email", metavar="EMAIL")
    give.add_argument("plan", metavar="PLAN", help="its name, such as pro")
    give.add_argument("--days", type=_days, metavar="N", help="for how long; without end unless given")
    give.set_defaults(handler=set_plan)


def list_plans(args: argparse.Namespace) -> int:
    """Print a line for each plan."""
    with open_database(args).read() as session:
        for plan in plans.list_plans(session):
            print(f"{plan.name}\t{'; '.join(limit.description for limit in plan.limits.values())}")
    return 0


def set_plan(args: argparse.Namespace) -> int:
    """Give the plan and say so."""
    ends_at = utc_now() + timedelta(days=args.days) if args.days else None
    with open_database(args).write() as session:
        account = users.locked(session, args.email)
        current_plan = plans.give_plan(session, account, args.plan, ends_at=ends_at, by=None)
    until = f"until {current_plan.ends_at:%Y-%m-%d %H:%M} UTC" if current_plan.ends_at else "without end"
    print(f"{account.email or account.id} has the {current_plan.title} plan {until}.")
    return 0


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"from 1 to {MOST_DAYS}")
    return days
