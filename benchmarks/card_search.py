"""
Does the offline tutor find the card that a question is about, and does it know when there is none?

    .venv/bin/python benchmarks/card_search.py [--missed]

In turn, one wording of every card is held out and asked of an index that has never seen it. *Recall* is how many of
these questions get their own card, *precision* how many of those answered do. Beside them stand questions about
something else (tests/tutor/off_topic.txt), none of which should be answered. `--missed` lists what went wrong.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from app.services.tutor.offline.finding.card_index import GOOD_ENOUGH, CardIndex
from app.services.tutor.offline.finding.knowledge import Card, general_knowledge
from app.settings import ROOT

OFF_TOPIC = ROOT / "tests/tutor/off_topic.txt"
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


@dataclass(frozen=True)
class Asked:
    """A question that was asked of the index."""

    question: str
    wanted: str
    """The card's id; empty if none."""
    found: str
    score: float
    took_ms: float


def main() -> int:
    """Ask all, print the table; exit code 1 if the threshold in use serves questions about something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--missed", action="store_true", help="list the questions that got another card")
    args = parser.parse_args()
    held_out = list(asked_of_held_out())
    others = list(asked_of_all(off_topic()))
    if args.missed:
        for one in (*held_out, *others):
            if one.found != one.wanted:
                print(f"{one.score:.2f} {one.question!r}: {one.found}, not {one.wanted or 'any'}")
    print(f"{len(held_out)} wordings held out, {len(others)} questions about something else")
    print(f"p50 {median(one.took_ms for one in held_out):.2f} ms")
    for threshold in sorted({*THRESHOLDS, GOOD_ENOUGH}):
        found = figures(held_out, threshold)
        served = sum(one.score >= threshold for one in others)
        mark = " <- in use" if threshold == GOOD_ENOUGH else ""
        print(
            f"threshold {threshold:.2f}: recall {found[0]:.3f}, precision {found[1]:.3f}, something else {served}{mark}"
        )
    return 0


def figures(asked: Sequence[Asked], threshold: float) -> tuple[float, float]:
    """Return recall and precision of what scores at least the threshold."""
    answered = [one for one in asked if one.score >= threshold]
    right = sum(one.found == one.wanted for one in answered)
    return right / len(asked), right / max(1, len(answered))


def asked_of_held_out() -> Iterator[Asked]:
    """Ask each wording of an index that lacks it."""
    known = general_knowledge()
    for turn in range(max(len(card.asked) for card in known.cards)):
        index = CardIndex([_without(card, turn) for card in known.cards], known.lexicon)
        for card in known.cards:
            if turn < len(card.asked):
                yield _ask(index, card.asked[turn], card.id)


def asked_of_all(questions: Sequence[str]) -> Iterator[Asked]:
    """Ask questions that no card is about."""
    known = general_knowledge()
    index = CardIndex(known.cards, known.lexicon)
    for question in questions:
        yield _ask(index, question, "")


def off_topic() -> list[str]:
    """Read the questions about something else."""
    return [line for line in OFF_TOPIC.read_text(encoding="utf-8").splitlines() if line]


def _without(card: Card, turn: int) -> Card:
    return replace(card, asked=card.asked[:turn] + card.asked[turn + 1 :])


def _ask(index: CardIndex, question: str, wanted: str) -> Asked:
    began_s = time.perf_counter()
    found = index.best(index.terms(question))
    took_ms = 1000 * (time.perf_counter() - began_s)
    if not found:
        return Asked(question, wanted, "", 0.0, took_ms)
    return Asked(question, wanted, index.cards[found[0].index].id, found[0].score, took_ms)


if __name__ == "__main__":
    sys.exit(main())
