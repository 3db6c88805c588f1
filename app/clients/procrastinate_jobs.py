"""
Procrastinate's tables of jobs, spoken to from inside a transaction that is open already.

Theory of operation: procrastinate's `JobManager` says all it wants through a connector. Ours hands each
statement to the connection of a Session, so that a job comes and goes in the same commit as what it is about,
and an error is SQLAlchemy's own, which takes a dead connection out of the pool. Most of the manager's methods
are coroutines, because procrastinate's own worker lives in an event loop. Beneath ours nothing ever waits, so
a single step brings each of them to its end.

Whoever fetches a job registers as one of procrastinate's workers for that one job, and no longer. So what
procrastinate calls the heartbeat of a worker is that of a claim: a process that lives, but is stuck with one
of its jobs, loses that job only.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString, TypeVar

from procrastinate.connector import BaseConnector
from procrastinate.jobs import Job as Entry
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.types import JSONValue
from psycopg.types.json import Jsonb
from sqlalchemy import CursorResult, text
from sqlalchemy.orm import Session

Result = TypeVar("Result")

# A job is due when this is over. The clocks of two machines differ, so "now" could be too late.
_AT_ONCE = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class FetchedJob:
    """A job that is ours now."""

    number: int
    """Procrastinate's name for the job."""
    worker: int
    """Under which we are registered for it. Never given twice."""
    task_kwargs: dict[str, JSONValue]
    """What the job was given when it was deferred."""


class JobTables:
    """What the queue needs of procrastinate, within one transaction."""

    def __init__(self, session: Session) -> None:
        """Work on this Session's connection; whoever owns it commits."""
        self._session = session
        self._manager = JobManager(_SessionConnector(session))

    def defer(self, queue: str, task: str, *, priority: int, task_kwargs: dict[str, JSONValue]) -> int:
        """Add a job, and return its number. At the commit, whoever listens is woken by a trigger of procrastinate's."""
        return _numbered(self._manager.defer_job(_entry(queue, task, priority=priority, task_kwargs=task_kwargs)))

    def defer_periodic(self, queue: str, chore: str, *, due: int) -> None:
        """Add a job that is to be done once at that time, however many ask for it. `due`: seconds since 1970."""
        entry = _entry(queue, chore, priority=0, task_kwargs={"timestamp": due, "chore": chore})
        _finished(self._manager.defer_periodic_job(entry, periodic_id=queue, defer_timestamp=due))

    def prioritise(self, priorities: Mapping[int, int]) -> None:
        """Give jobs that wait other priorities, by their numbers."""
        if priorities:
            change = text("UPDATE procrastinate_jobs SET priority = :priority WHERE id = :id AND status = 'todo'")
            changes = [{"id": number, "priority": priority} for number, priority in sorted(priorities.items())]
            self._session.connection().execute(change, changes)

    def fetch(self, *queues: str) -> FetchedJob | None:
        """Take the first job of these queues that nobody else is just taking."""
        if not self._is_any_waiting(queues):
            return None  # most looks end here, and have written nothing
        worker = _finished(self._manager.register_worker())
        entry = _finished(self._manager.fetch_job([*queues], worker))
        if entry is None:
            _finished(self._manager.unregister_worker(worker))
            return None
        return FetchedJob(number=_numbered(entry), worker=worker, task_kwargs=entry.task_kwargs)

    def beat(self, worker: int) -> None:
        """Say that a job is still being worked on."""
        _finished(self._manager.update_heartbeat(worker))

    def finish(self, number: int, *, worker: int, keep: bool) -> None:
        """End a job. It is kept for those who look into the past, until it is old; or not at all."""
        _finished(self._manager.finish_job_by_id_async(number, Status.SUCCEEDED, delete_job=not keep))
        _finished(self._manager.unregister_worker(worker))

    def give_back(self, number: int) -> None:
        """Let others have a job at once, with its old priority."""
        self._manager.retry_job_by_id(number, retry_at=_AT_ONCE)

    def unregister(self, worker: int) -> None:
        """No longer be a worker."""
        _finished(self._manager.unregister_worker(worker))

    def stalled(self, *queues: str, silent_s: float) -> set[int]:
        """Return the numbers of jobs that were fetched, and of which nothing has been heard for so long."""
        return {
            _numbered(entry)
            for queue in queues
            for entry in _finished(self._manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=silent_s))
        }

    def forget_workers(self, *, silent_s: float) -> None:
        """Remove registrations of which nothing has been heard for so long."""
        _finished(self._manager.prune_stalled_workers(silent_s))

    def delete_old(self, *, after_h: int) -> None:
        """Delete what was finished longer ago than that, however it ended."""
        deletion = self._manager.delete_old_jobs(
            after_h, include_failed=True, include_cancelled=True, include_aborted=True
        )
        _finished(deletion)

    def _is_any_waiting(self, queues: Sequence[str]) -> bool:
        waiting = "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = ANY (:queues))"
        return bool(self._session.scalar(text(waiting), {"queues": list(queues)}))


class _SessionConnector(BaseConnector):
    """Hands procrastinate's statements to a Session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_sync_connector(self) -> BaseConnector:
        return self

    def execute_query(self, query: LiteralString, **arguments: Any) -> None:  # noqa: ANN401  as its base has it
        self._run(query, arguments)

    def execute_query_one(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        return dict(self._run(query, arguments).mappings().one())

    def execute_query_all(self, query: LiteralString, **arguments: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        return [dict(row) for row in self._run(query, arguments).mappings()]

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:  # noqa: ANN401
        self.execute_query(query, **arguments)

    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        return self.execute_query_one(query, **arguments)

    async def execute_query_all_async(
        self,
        query: LiteralString,
        **arguments: Any,  # noqa: ANN401
    ) -> list[dict[str, Any]]:
        return self.execute_query_all(query, **arguments)

    def _run(self, query: str, arguments: dict[str, Any]) -> CursorResult[Any]:
        given = {name: _for_psycopg(value) for name, value in arguments.items()}
        return self._session.connection().exec_driver_sql(query, given)


def _for_psycopg(value: object) -> object:
    """Mark dictionaries as JSON, also inside the rows of a list."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, tuple):
        return tuple(_for_psycopg(one) for one in value)
    return [_for_psycopg(one) for one in value] if isinstance(value, list) else value


def _entry(queue: str, task: str, *, priority: int, task_kwargs: dict[str, JSONValue]) -> Entry:
    # No lock: with one, procrastinate hands out nothing that bears it while one is being worked on.
    return Entry(queue=queue, task_name=task, priority=priority, task_kwargs=task_kwargs, lock=None, queueing_lock=None)


def _numbered(entry: Entry) -> int:
    if entry.id is None:
        raise RuntimeError("procrastinate returned a job without a number")
    return entry.id


def _finished(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never waits, and return what it returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        answer: Result = end.value
        return answer
    coroutine.close()
    raise RuntimeError("procrastinate wanted to wait, and there is no event loop here")
