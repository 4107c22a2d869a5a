"""The results of a check: verdicts of cases, levels and exercises, as data. `autograder.judging.cards` draws them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

VERDICTS = ("passed", "wrong", "raised", "hung", "crashed", "out_of_memory", "too_slow", "missing")
HINT_LEVELS = {"verdict": 0, "differs": 1, "why": 2, "how": 3}  # what an instructor lets a card tell


@dataclass
class RecordResult:
    """The measurement of an answer that has passed: `autograder.exercise.Record` in numbers, the smaller the better.

    name, unit, counted, why: as there. says: the case. bound: None where none is known. personal: what the student's
    own best was until now, as the card says it.
    """

    name: str
    unit: str
    says: str
    value: float
    best: float
    bound: float | None = None
    why: str = ""
    counted: bool = True
    personal: str = ""

    def to_json(self) -> dict:
        data = asdict(self)
        del data["personal"]  # the student's own affair
        return data


@dataclass
class CaseResult:
    """One run. differs: lines that say what differs, without judging. why, how: the diagnosis in words.

    guess: `diagnosis` is a mistake that was recognised by the values it gives. found: it is what the exercise's `facts`
    said of wrong values. fits: all names that wrong values allow.
    hidden: names of mistakes that cannot be seen in this case; None where no wrong values came back. records: what was
    measured in it. refuses: the answer has raised ValueError on every rank, asked for or not.
    """

    level: str
    says: str
    world_size: int
    verdict: str
    diagnosis: str = ""
    differs: list[str] = field(default_factory=list)
    why: str = ""
    how: str = ""
    printed: list[str] = field(default_factory=list)
    moved: str = ""
    events: tuple = ()
    fits: tuple[str, ...] = ()
    hidden: tuple[str, ...] | None = None
    guess: bool = False
    found: bool = False
    records: tuple[RecordResult, ...] = ()
    refuses: bool = False

    def to_json(self) -> dict:
        data = asdict(self)
        for name in ("events", "fits", "hidden", "guess", "found", "records", "refuses"):  # of use to the judge alone
            del data[name]
        return data


@dataclass
class LevelResult:
    name: str
    points: int
    score: int
    verdict: str
    cases: list[CaseResult]

    def to_json(self) -> dict:
        return {"name": self.name, "points": self.points, "score": self.score, "verdict": self.verdict}


@dataclass
class Result:
    """The verdict on one exercise. note: said on top (for example which function stood in for a failed one). records:
    what was measured, where all of it has passed.
    """

    unit: str
    exercise: str
    title: str
    max_score: int
    levels: list[LevelResult]
    note: str = ""
    records: list[RecordResult] = field(default_factory=list)

    @property
    def score(self) -> int:
        return sum(level.score for level in self.levels)

    @property
    def cases(self) -> list[CaseResult]:
        return [case for level in self.levels for case in level.cases]

    @property
    def decisive(self) -> CaseResult | None:
        """The failing case that says most: the first with a named diagnosis, else the first."""
        failed = [case for case in self.cases if case.verdict != "passed"]
        return next(
            (case for case in failed if case.diagnosis not in ("", "unrecognised")), failed[0] if failed else None
        )

    @property
    def verdict(self) -> str:
        return self.decisive.verdict if self.decisive else "passed"

    @property
    def diagnosis(self) -> str:
        return self.decisive.diagnosis if self.decisive else ""

    @property
    def hint(self) -> str:
        case = self.decisive
        return " ".join(part for part in (case.why, case.how) if part) if case else ""

    @classmethod
    def from_json(cls, data: dict) -> Result:
        """Rebuilds a result from what `to_json` returned; the cases have no events. Raises KeyError, TypeError."""
        cases = [CaseResult(**case) for case in data["cases"]]
        levels = [
            LevelResult(**level, cases=[case for case in cases if case.level == level["name"]])
            for level in data["levels"]
        ]
        title = data.get("title", data["exercise"])
        records = [RecordResult(**record) for record in data.get("records", [])]
        return cls(data["unit"], data["exercise"], title, data["max_score"], levels, data["note"], records)

    def to_json(self) -> dict:
        """The documented result of `autograder try --json`."""
        return {
            "unit": self.unit,
            "exercise": self.exercise,
            "verdict": self.verdict,
            "score": self.score,
            "max_score": self.max_score,
            "diagnosis": self.diagnosis,
            "hint": self.hint,
            "note": self.note,
            "levels": [level.to_json() for level in self.levels],
            "cases": [case.to_json() for case in self.cases],
            "records": [record.to_json() for record in self.records],
        }
