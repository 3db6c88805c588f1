"""
Answers under way: each is a task of the web process, and whoever wants to read along follows it.

An answer is not tied to the request that asked for it. A browser that goes away in the middle has asked all the
same: the answer is finished and kept, and stands there when the page is opened again. So a message is charged once
if it was delivered, cannot be had for nothing by hanging up before the end, and needs no thread and no database
connection while a model is thinking.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec, TypeVar

import structlog
from anyio import to_thread
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app import metrics
from app.clients.tutor import AttemptOutcome, EngineFailed, Passage, TutorContext, TutorEngine
from app.db import Database
from app.errors import AnswerFailed
from app.models import Account
from app.services.exercises import catalogue
from app.services.process_identity import this_process
from app.services.tutor import context as contexts
from app.services.tutor import ledger
from app.services.tutor.context import PreparedAnswer
from app.services.tutor.leak_guard.stream_filter import LeakFilter, guarded
from app.services.tutor.ledger import CompleteAnswer, MessageRequest, Reservation

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

LONGEST_WAIT_S = 30.0
"""How long the same message, sent again, waits for another server that is answering it."""
LONGEST_S = 150.0
"""For a whole answer; shorter than the lease, so that a reservation is never released under its answer."""
STAND_IN = (
    "The hosted tutor cannot be reached just now, so the offline tutor answers in its place. This answer costs you no "
    "message.\n\n"
)
"""What a stand-in's answer begins with."""
REPLACEMENT = (
    "That would have been the line itself, and then the exercise would be over without you. "
    "Let me ask something instead: which value goes in, what shape has it, and what should come out?"
)


@dataclass(frozen=True)
class AnswerState:
    """What is known of an answer at a moment."""

    text: str
    sources: tuple[Passage, ...] = ()
    failed: str = ""
    """Why there will be no whole answer; empty if there is no fault."""
    done: bool = False


class Answering:
    """One answer under way."""

    def __init__(self, message_id: str) -> None:
        """Nothing is known yet."""
        self.message_id = message_id
        self.state = AnswerState("")
        self._changed = asyncio.Event()

    def publish(self, state: AnswerState) -> None:
        """Let all who follow know more."""
        self.state = state
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncGenerator[AnswerState]:
        """Yield what is known now, and again after each change, until the answer has ended."""
        while True:
            changed, state = self._changed, self.state
            yield state
            if state.done:
                return
            await changed.wait()

    async def end(self) -> AnswerState:
        """Wait until the answer has ended."""
        async with aclosing(self.follow()) as states:
            async for state in states:
                if state.done:
                    return state
        return self.state


class AnswerDesk:
    """All answers that this process is giving."""

    def __init__(
        self,
        database: Database,
        *,
        engine: TutorEngine,
        fallback: TutorEngine,
        close_engine: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """
        Prepare to answer.

        Args:
            database: where the ledger is.
            engine: who answers.
            fallback: who answers where the first one may not, because a month's tokens are spent.
            close_engine: what is to be called when no answer is under way any more, and none will be.
        """
        self._database = database
        self._engine = engine
        self._fallback = fallback
        self._close_engine = close_engine
        self._owner = this_process()
        self._running: dict[str, Answering] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(
        self, account: Account, exercise_id: str, *, text: str, client_message_id: str
    ) -> tuple[Reservation, Answering | None]:
        """
        Begin to answer a question, unless the same message was begun or answered before.

        Returns:
            The message, and the answer to follow; None if it was settled before, or is under way elsewhere.

        Raises:
            AppError: NotFound if there is no such exercise, and whatever `ledger.reserve` refuses.
        """
        question = contexts.checked_question(text)
        begun: asyncio.Future[tuple[Reservation, Answering | None]] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(begun, account, exercise_id, (question, client_message_id)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(begun)

    def running(self, message_id: str) -> Answering | None:
        """Return the answer to a message, if this process is giving it."""
        return self._running.get(message_id)

    async def close(self) -> None:
        """Give up what is under way: each message is given back. Then close the engine's connections."""
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        if self._close_engine is not None:
            await self._close_engine()

    async def _run(
        self,
        begun: asyncio.Future[tuple[Reservation, Answering | None]],
        account: Account,
        exercise_id: str,
        sent: tuple[str, str],
    ) -> None:
        """Reserve and answer in one task, so that no request that is cut off between the two leaves a reservation."""
        try:
            reservation = await self._reserve_patiently(account, exercise_id, *sent)
        except Exception as refused:  # noqa: BLE001  reported to whoever has asked
            begun.set_exception(refused)
            return
        if reservation.settled or reservation.under_way:
            begun.set_result((reservation, self._running.get(reservation.message_id)))
            return
        answering = self._running[reservation.message_id] = Answering(reservation.message_id)
        begun.set_result((reservation, answering))
        await self._give(answering, reservation, (account, exercise_id, sent[0]))

    async def _reserve_patiently(
        self, account: Account, exercise_id: str, question: str, client_message_id: str
    ) -> Reservation:
        """
        Reserve; a message that another server is answering is waited for.

        It ends as an answer that is kept, or is given back and then is ours to answer.
        """
        waited_s, pause_s = 0.0, 0.02
        while True:
            reservation = await to_thread.run_sync(self._reserve, account, exercise_id, question, client_message_id)
            elsewhere = reservation.under_way and reservation.message_id not in self._running
            if not elsewhere or waited_s > LONGEST_WAIT_S:
                return reservation
            await asyncio.sleep(pause_s)
            waited_s, pause_s = waited_s + pause_s, min(1.0, 1.5 * pause_s)

    def _reserve(self, account: Account, exercise_id: str, question: str, client_message_id: str) -> Reservation:
        with self._database.read() as session:
            version_id = catalogue.current(session, exercise_id).version_id
        with self._database.write() as session:
            return ledger.reserve(
                session, account, MessageRequest(version_id, client_message_id, question), owner=self._owner
            )

    def _prepare(self, account: Account, exercise_id: str, question: str) -> PreparedAnswer:
        with self._database.read() as session:
            return contexts.prepare(session, account, exercise_id, question)

    async def _give(self, answering: Answering, reservation: Reservation, asked: tuple[Account, str, str]) -> None:
        """Answer to the end, and write down how it ended, come what may."""
        reason, tokens = "stopped", 0
        try:
            async with asyncio.timeout(LONGEST_S):
                prepared = await to_thread.run_sync(self._prepare, *asked)
                engine, tokens = await self._choose(reservation, prepared.context)
                kept = await self._written(answering, engine, prepared, most=tokens)
                tokens = kept.tokens
            reason = "" if await self._in_write(ledger.settle, reservation, kept) else "late"
        except EngineFailed as failed:
            reason = failed.reason
            tokens = 0 if reason in _NEVER_BEGUN else tokens
        except TimeoutError:
            reason = "timeout"
        except Exception:
            log.exception("tutor_failed", message=reservation.message_id)
            reason = "fault"
        finally:
            await asyncio.shield(self._finish(answering, reservation, reason=reason, tokens=tokens))

    async def _finish(self, answering: Answering, reservation: Reservation, *, reason: str, tokens: int) -> None:
        metrics.tutor_answered(reason or "settled")
        if reason:
            log.warning("tutor_answer_released", message=reservation.message_id, reason=reason)
            if not await self._release(reservation, reason=reason, tokens=tokens) and reason == "stopped":
                reason = ""  # it was settled at the last instant
        state = answering.state
        answering.publish(AnswerState(state.text, state.sources, failed=reason, done=True))
        self._running.pop(reservation.message_id, None)

    async def _release(self, reservation: Reservation, *, reason: str, tokens: int) -> bool:
        """Give the message back, at the second try if need be: what cannot be written then is released by the lease."""
        for _ in range(2):
            with suppress(SQLAlchemyError):
                return await self._in_write(ledger.release, reservation, reason=reason, tokens=tokens)
        return True

    async def _choose(self, reservation: Reservation, context: TutorContext) -> tuple[TutorEngine, int]:
        """Return who answers, and how many tokens are set aside for it."""
        most = self._engine.most_tokens(context)
        if not most or await self._in_write(ledger.reserve_tokens, reservation, most=most):
            return self._engine, most
        log.warning("tutor_ceiling_reached", message=reservation.message_id)
        return self._fallback, 0

    async def _written(
        self, answering: Answering, engine: TutorEngine, prepared: PreparedAnswer, *, most: int
    ) -> CompleteAnswer:
        """
        Let the engine write; where it is down before its first word, let the fallback write instead.

        Raises:
            EngineFailed: it failed in the middle, or the fallback itself did.
        """
        try:
            return await self._write(answering, engine, prepared, most=most)
        except EngineFailed as failed:
            if engine is self._fallback or answering.state.text:
                raise
            log.warning("tutor_stood_in", message=answering.message_id, reason=failed.reason)
            metrics.tutor_answered(failed.reason)
            tokens = 0 if failed.reason in _NEVER_BEGUN else most
        answer = await self._write(answering, self._fallback, prepared, most=0, lead=STAND_IN)
        return replace(answer, tokens=tokens, outcome=AttemptOutcome.STAND_IN)

    async def _write(
        self, answering: Answering, engine: TutorEngine, prepared: PreparedAnswer, *, most: int, lead: str = ""
    ) -> CompleteAnswer:
        """Let one engine write, under the guard's eyes. Raises EngineFailed."""
        text, sources, tokens, outcome = lead, tuple[Passage, ...](), most, AttemptOutcome.ANSWERED
        leak_filter = LeakFilter(prepared.protected, prepared.visible, REPLACEMENT)
        async with aclosing(guarded(engine.answer(prepared.context), leak_filter)) as pieces:
            async for piece in pieces:
                text += piece.text
                sources = piece.sources or sources
                tokens = min(most, piece.usage.tokens) if piece.usage else tokens
                outcome = piece.outcome
                answering.publish(AnswerState(text, sources))
        if leak_filter.is_replaced:
            log.warning("tutor_answer_replaced", message=answering.message_id, engine=engine.name)
        if not text.strip():
            raise EngineFailed("empty")
        return CompleteAnswer(text, [_source(one) for one in sources], engine.name, tokens, outcome)

    async def _in_write(self, action: Callable[Concatenate[Session, P], T], *args: P.args, **named: P.kwargs) -> T:
        def do() -> T:
            with self._database.write() as session:
                return action(session, *args, **named)

        return await to_thread.run_sync(do)


_NEVER_BEGUN = {"unreachable", "busy"}
"""Failures before a model took anything up, which it therefore does not charge for."""


def release_lost(database: Database, account: Account) -> None:
    """Give back what a server that has died left reserved, before the account is told what it has left."""
    with database.read() as session:
        found = ledger.lost(session, account_id=account.id)
    if found:
        with database.write() as session:
            ledger.release_lost(session, account_id=account.id)


def failure(state: AnswerState) -> AnswerFailed:
    """Return what is said of an answer that has come to nothing."""
    return AnswerFailed(reason=_WORDS.get(state.failed, "something went wrong on our side"))


def _source(passage: Passage) -> dict[str, str]:
    return {"title": passage.title, "address": passage.address}


_WORDS = {
    "timeout": "it took too long",
    "cut-off": "it was cut off",
    "empty": "it was empty",
    "refused": "the model’s server refused",
    "unreachable": "the model’s server cannot be reached",
    "malformed": "what came back could not be read",
    "endless": "it would not end",
    "busy": "the model’s server is busy",
    "stopped": "the server is being restarted",
    "late": "it came too late",
}
