"""What testing an exercise has brought to light, in an author's terms."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class SelfTestFinding:
    """Something that keeps an exercise from being published."""

    subject: str  # which solution, variant or mutant
    problem: str
    diff: str = ""


@dataclass
class Tested:
    """What came of testing one exercise."""

    exercise: str
    findings: list[SelfTestFinding] = field(default_factory=list)
    right_runs: int = 0
    wrong_runs: int = 0
    variants: int = 0
    mutants: int = 0
    killed: int = 0
    excused: int = 0  # survivors that the author has marked as equivalent
    slips: int = 0  # common ones that have a place in the solution
    kills: dict[str, int] = field(default_factory=dict)  # check -> mutants that it fails
    passes: dict[str, tuple[int, int]] = field(default_factory=dict)  # wrong variant -> runs that passed, of how many
    accepted_share: float = 1.0  # of the draws for fresh data, those that `require` lets through

    @property
    def publishable(self) -> bool:
        """Is there nothing to put right?"""
        return not self.findings

    @property
    def score(self) -> float:
        """Share of the mutants that are not equivalent and were found out, 0 to 1."""
        wanted = self.mutants - self.excused
        return self.killed / wanted if wanted else 1.0

    def find(self, subject: str, problem: str, diff: str = "") -> None:
        """Note something to put right, once."""
        finding = SelfTestFinding(subject, problem, diff)
        if finding not in self.findings:
            self.findings.append(finding)

    def to_json(self) -> dict[str, object]:
        """As JSON-able values."""
        return {**asdict(self), "publishable": self.publishable, "mutation_score": round(self.score, 4)}
