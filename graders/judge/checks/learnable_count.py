"""How many numbers can learn, each counted once, however many names it has?"""

from graders.judge.trials.trial import Outcome, Trial, failed, passed
from graders.judge.values.decode_observation import Leaf, Observed
from graders.judge.values.strided import distinct_numbers
from graders.student.observation import table_of
from graders.task import Check


def judge(trial: Trial, check: Check) -> Outcome:
    """Compare the count over the student's tables with that over the solution's."""
    made = {name: trial.made(name) for name in check.names}
    lacking = [name for name, one in made.items() if not one.readable or one.kind != "table"]
    if lacking:
        return trial.needed(lacking[0], "to count the numbers that can learn")
    count, expected = count_learnable(list(made.values())), _expected(trial, check)
    if count == expected:
        return passed()
    amount = f"{count} numbers" if trial.lesson else "More numbers" if count > expected else "Fewer numbers"
    said = f"{amount} can learn; with the tables asked for it would be {expected}."
    return failed(f"{said} {_why(made)}".strip())


def count_learnable(tables: list[Observed]) -> int:
    """Distinct numbers that an optimiser can change: memory that several tables share is counted once."""
    storages: dict[int, set[Leaf]] = {}
    for leaf in (leaf for one in tables for leaf in one.leaves):
        storages.setdefault(leaf.storage, set()).add(leaf)
    return sum(map(distinct_numbers, storages.values()))


def _expected(trial: Trial, check: Check) -> int:
    tables = [table_of(trial.pure[name])[0] for name in check.names]
    return sum(table.numel() for table in tables if table is not None and table.requires_grad)


def _why(made: dict[str, Observed]) -> str:
    frozen = [name for name, one in made.items() if not one.requires_grad]
    if frozen:
        return f"Fixed, and so unable to learn: {', '.join(f'`{name}`' for name in frozen)}."
    if len({one.leaves for one in made.values()}) < len(made):
        names = " and ".join(f"`{name}`" for name in made)
        return f"{names} are one and the same table under two names."
    return ""
