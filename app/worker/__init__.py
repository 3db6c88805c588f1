"""
The worker: takes jobs off the queue, has them graded in the sandbox, and records the results.

It is a process of its own, because the web server must answer while code runs, and because a
process that forks must not hold an event loop.
"""

from app.worker.process import run_worker
from app.worker.sandbox_check import REFUSED
from app.worker.supervisor import Supervisor

__all__ = ["REFUSED", "Supervisor", "run_worker"]
