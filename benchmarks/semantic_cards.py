"""
Would a sentence model find the cards better than their words alone?

    .venv/bin/python benchmarks/semantic_cards.py MODEL

MODEL is the folder of all-MiniLM-L6-v2 (`vocab.txt`, `model.safetensors`), as a package of it has it.
As in `card_search`, one wording of every card at a time is held out. Printed are, for mixtures of the two scores, how
often the very card comes first, and recall and precision at the threshold that serves three of the questions about
something else.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from app.services.tutor.offline.finding.card_index import CardIndex
from app.services.tutor.offline.finding.knowledge import general_knowledge
from tools.card_search import off_topic, without
from tools.sentence_model import SentenceModel, Vector

SERVED = 3
_NEAREST, _ANSWER = 0.5, 0.15  # how much the nearest wording counts beside the two nearest, and the answer's text


def main() -> int:
    """Measure, and print a line for each mixture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of the model")
    model = SentenceModel(parser.parse_args().model)
    cards, lexicon = general_knowledge().cards, general_knowledge().lexicon
    asked = [(number, turn, text) for number, card in enumerate(cards) for turn, text in enumerate(card.asked)]
    began_s = time.perf_counter()
    vectors = model.vectors(text for *_, text in asked)
    print(f"{1000 * (time.perf_counter() - began_s) / len(asked):.1f} ms a sentence")
    answers, others = model.vectors(card.says for card in cards), model.vectors(off_topic())
    card_of, turn_of = (np.array([one[part] for one in asked]) for part in (0, 1))
    by_words, by_meaning, wanted = [], [], []
    for turn in range(int(turn_of.max()) + 1):
        chosen = np.flatnonzero(turn_of == turn)
        index = CardIndex([without(card, turn) for card in cards], lexicon)
        by_words.append(_words(index, [asked[one][2] for one in chosen]))
        by_meaning.append(_meanings(vectors[chosen], vectors[turn_of != turn], card_of[turn_of != turn], answers))
        wanted.append(card_of[chosen])
    words, meanings, right = np.concatenate(by_words), np.concatenate(by_meaning), np.concatenate(wanted)
    other_words = _words(CardIndex(cards, lexicon), off_topic())
    other_meanings = _meanings(others, vectors, card_of, answers)
    for share in (0.0, 0.3, 0.5, 0.7, 1.0):
        mixed = (1 - share) * words + share * meanings
        least = np.sort(((1 - share) * other_words + share * other_meanings).max(axis=1))[-SERVED - 1]
        found, answered = mixed.argmax(axis=1) == right, mixed.max(axis=1) > least
        print(
            f"share of the model {share:.1f}: first {found.mean():.3f}, with {SERVED} served: "
            f"recall {(found & answered).mean():.3f}, precision {found[answered].mean():.3f}"
        )
    return 0


def _words(index: CardIndex, questions: list[str]) -> Vector:
    """Score every card for every question by words: `[questions, cards]`."""
    scores = np.zeros((len(questions), len(index.cards)), dtype=np.float32)
    for row, question in enumerate(questions):
        for match in index.best(index.terms(question), most=len(index.cards)):
            scores[row, match.index] = match.score
    return scores


def _meanings(questions: Vector, wordings: Vector, card_of: Vector, answers: Vector) -> Vector:
    """Score every card for every question by the model: `[questions, cards]`."""
    alike = questions @ wordings.T
    columns = []
    for card in range(len(answers)):
        nearest = np.sort(alike[:, card_of == card], axis=1)[:, -2:]
        columns.append(_NEAREST * nearest[:, -1] + (1 - _NEAREST) * nearest.mean(axis=1))
    scores: Vector = (1 - _ANSWER) * np.stack(columns, axis=1) + _ANSWER * (questions @ answers.T)
    return scores


if __name__ == "__main__":
    sys.exit(main())
