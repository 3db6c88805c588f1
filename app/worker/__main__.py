"""`python -m app.worker`: the worker as the supervisor starts it."""

import argparse
import sys

from app import logs
from app.settings import Settings
from app.worker.parent import die_with
from app.worker.process import run_worker


def main() -> int:
    """Read the arguments, and work until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m app.worker", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="the data folder (or KELOLO_DATA)")
    parser.add_argument("--parent", type=int, metavar="PID", help="stop when this process ends")
    args = parser.parse_args()
    if args.parent is not None:
        die_with(args.parent)
    settings = Settings(**({"data": args.data} if args.data else {}))
    logs.configure(settings.log_format)
    # only a server knows who can send code: a worker by itself never does without its sandbox
    return run_worker(settings if args.parent is not None else settings.model_copy(update={"unsafe": False}))


if __name__ == "__main__":
    sys.exit(main())
