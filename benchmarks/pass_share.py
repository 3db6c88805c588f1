"""
Does chance ever pass? Every wrong variant of the shipped exercises, and some guesses, each with many seeds.

    .venv/bin/python benchmarks/pass_share.py [--only EXERCISE] [--seeds 200] [--for MINUTES]

Exit code 1 if any of them passes even once.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from app.authoring import CodeExercise
from app.authoring.self_test.runner import variant_source
from graders.grader import Grader
from graders.report import Verdict
from tools.exercises import code_exercises

# what is right only where a chance or a guess happens to be, by exercise: what is replaced in the solution, and by what
GUESSES = {
    "softmax-with-temperature": [
        ("probabilities.argmax(dim=-1)", "torch.multinomial(probabilities, 1).squeeze(1)"),
        ("probabilities.argmax(dim=-1)", "torch.distributions.Categorical(probabilities).sample()"),
    ],
    "token-and-position-embeddings": [
        ("nn.Embedding(vocab_size, n_embd)", f"nn.Embedding(vocab_size, n_embd, padding_idx={row})")
        for row in (0, 1, 3, 9)
    ],
    "which-rows-learn": [
        (
            "nn.Embedding(num_embeddings, embedding_dim)",
            f"nn.Embedding(num_embeddings, embedding_dim, padding_idx={row})",
        )
        for row in range(11)
        if row != 7  # noqa: PLR2004  this one has no gradient in the lesson, and may have none elsewhere
    ]
    + [("(table.weight.grad != 0).any(dim=1).nonzero().flatten()", "ids.unique()")],
}


def main() -> int:
    """Grade them all, seed by seed, and print how many passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--only", default="", help="the id of one exercise")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument(
        "--for", dest="minutes", type=float, default=0.0, help="stop after so long; 0: when all is done"
    )
    args = parser.parse_args()
    end = time.monotonic() + args.minutes * 60 if args.minutes else float("inf")
    passed: Counter[str] = Counter()
    runs = done = 0
    with tempfile.TemporaryDirectory(prefix="kelolo-pass-share-") as folder, Grader(scratch=Path(folder)) as grader:
        known = [(one.task(1), wrongs(one)) for one in code_exercises(args.only)]
        for number in range(args.seeds):
            if time.monotonic() > end:
                break
            for task, sources in known:
                for name, source in sources:
                    runs += 1
                    if grader.grade(task, source, seed=f"share-{number}").verdict is Verdict.PASSED:
                        passed[f"{task.exercise}: {name}"] += 1
            done = number + 1
    for name, count in passed.most_common():
        print(f"{name}: passed {count} of {done}")
    print(
        f"{sum(len(sources) for _, sources in known)} wrong programs, {done} seeds, {runs} runs: "
        f"{passed.total()} passed"
    )
    return 1 if passed else 0


def wrongs(exercise: CodeExercise) -> list[tuple[str, str]]:
    """The wrong variants and the guesses, each with its name."""
    variants = [(f"{number} {one.tag}", variant_source(exercise, one)) for number, one in enumerate(exercise.wrong)]
    guesses = [(new, exercise.solution.replace(old, new, 1)) for old, new in GUESSES.get(exercise.id, [])]
    return variants + guesses


if __name__ == "__main__":
    sys.exit(main())
