"""The rubric of a homework, and the words in which a verdict on it is given.

A *line* is one thing that earns points. A judge says of each line of its part what was earned and why (a *finding*),
and raises *flags*: remarks for a person, which never cost a point by themselves. `earned` None means that no judge
could decide: a person must. What the part "bonus" earns comes on top.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field

LONGEST = 600  # characters of one sentence
MOST_ROWS, LONGEST_ROW = 16, 200  # of what is said rank by rank
ONE_CAUSE = "one_cause"  # the flag that lines were lost for the same reason as another one
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class RubricLine:
    """One line of a rubric. part: a key of `Rubric.parts`. name: an identifier, unique in the rubric. title: what a
    student reads."""

    part: str
    name: str
    title: str
    points: float


@dataclass
class LineResult:
    """A judge's finding on a line. earned: points, or None where a person must decide. diagnosis: the mistake's name,
    "" for full marks.

    sentence: what was found and what was expected. teach: the one sentence that teaches. rows: what each rank did, a
    line for each.
    """

    line: RubricLine
    earned: float | None
    diagnosis: str = ""
    sentence: str = ""
    teach: str = ""
    rows: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """ "passed", "partly", "wrong" or "needs_person"."""
        if self.earned is None:
            return "needs_person"
        return "passed" if self.earned >= self.line.points else "partly" if self.earned > 0 else "wrong"

    def to_json(self) -> dict:
        said = {"earned": self.earned, "diagnosis": self.diagnosis, "sentence": self.sentence, "teach": self.teach}
        return {**asdict(self.line), "verdict": self.verdict, **said, "rows": self.rows}

    @classmethod
    def from_json(cls, data: dict) -> LineResult:
        line = RubricLine(data["part"], data["name"], data["title"], data["points"])
        told = (data["earned"], data["diagnosis"], data["sentence"], data["teach"], list(data.get("rows", [])))
        return cls(line, *told)


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at. kind: an identifier, for example "negative_karp_flatt"."""

    kind: str
    sentence: str


@dataclass
class PartResult:
    """A judge's word on one part. facts: what was measured, JSON values only, for the page and for whoever reads the
    result. assignment: the homework's name, entered by `judging`."""

    part: str
    findings: list[LineResult]
    flags: list[Flag] = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    assignment: str = ""

    @property
    def score(self) -> float:
        """The points earned so far; lines that wait for a person count as nothing."""
        return math.fsum(finding.earned or 0.0 for finding in self.findings)

    @property
    def max_score(self) -> float:
        return math.fsum(finding.line.points for finding in self.findings)

    @property
    def needs_person(self) -> bool:
        return bool(self.flags) or any(finding.earned is None for finding in self.findings)

    def to_json(self) -> dict:
        return {
            "assignment": self.assignment,
            "part": self.part,
            "findings": [finding.to_json() for finding in self.findings],
            "flags": [asdict(flag) for flag in self.flags],
            "facts": self.facts,
        }

    @classmethod
    def from_json(cls, data: dict) -> PartResult:
        findings = [LineResult.from_json(one) for one in data["findings"]]
        flags = [Flag(**one) for one in data["flags"]]
        # results kept from when there was one homework do not say which
        return cls(data["part"], findings, flags, data["facts"], data.get("assignment", "scaling_mnist"))


@dataclass
class Report:
    """The whole verdict. files: what was taken for what (role -> name in the folder). notes: remarks on the folder
    itself. assignment: the homework's name."""

    parts: list[PartResult]
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assignment: str = ""

    @property
    def findings(self) -> list[LineResult]:
        return [finding for part in self.parts for finding in part.findings]

    @property
    def flags(self) -> list[Flag]:
        return [flag for part in self.parts for flag in part.flags]

    @property
    def score(self) -> float:
        """The points earned so far; lines that wait for a person count as nothing until they are read."""
        return math.fsum(part.score for part in self.parts)

    @property
    def max_score(self) -> float:
        """The points that can be earned, without the bonus."""
        return math.fsum(part.max_score for part in self.parts if part.part != "bonus")

    @property
    def passed(self) -> bool:
        """True if everything but the bonus earned full marks, and nothing waits for a person."""
        return not self.needs_person and all(f.verdict == "passed" for f in self.findings if f.line.part != "bonus")

    @property
    def open_points(self) -> float:
        """Points that wait for a person, the bonus not counted."""
        return math.fsum(f.line.points for f in self.findings if f.earned is None and f.line.part != "bonus")

    @property
    def needs_person(self) -> bool:
        return any(part.needs_person for part in self.parts)

    def to_json(self, pictures: bool = True) -> dict:
        """The report as JSON values. pictures: whether with the pictures of pages, which are most of it."""
        parts = [part.to_json() for part in self.parts]
        if not pictures:
            parts = [{**part, "facts": {k: v for k, v in part["facts"].items() if k != "overlays"}} for part in parts]
        return {
            "assignment": self.assignment,
            "score": self.score,
            "max_score": self.max_score,
            "needs_person": self.needs_person,
            "files": self.files,
            "notes": self.notes,
            "parts": parts,
        }

    @classmethod
    def from_json(cls, data: dict) -> Report:
        parts = [PartResult.from_json(one) for one in data["parts"]]
        return cls(parts, data["files"], data["notes"], data["assignment"])


@dataclass(frozen=True)
class Rubric:
    """The lines of one homework, and a judge's words on them. parts: name -> title, in the order of the page."""

    parts: Mapping[str, str]
    lines: tuple[RubricLine, ...]

    def line(self, name: str) -> RubricLine:
        """The line of that name. Raises KeyError."""
        for one in self.lines:
            if one.name == name:
                return one
        raise KeyError(name)

    def lines_of(self, part: str) -> list[RubricLine]:
        """The lines of one part, in order."""
        return [one for one in self.lines if one.part == part]

    def points_of(self, part: str) -> float:
        """The points of a part."""
        return math.fsum(one.points for one in self.lines_of(part))

    def full(self, name: str, sentence: str = "") -> LineResult:
        """The result with full marks for the line of that name."""
        return LineResult(self.line(name), self.line(name).points, "", shown(sentence, LONGEST))

    def lost(self, name: str, diagnosis: str, sentence: str, teach: str = "", earned: float = 0.0) -> LineResult:
        """The line lost points, or all of them, by a mistake that has a name."""
        return LineResult(self.line(name), earned, diagnosis, shown(sentence, LONGEST), shown(teach, LONGEST))

    def needs_person(self, name: str, sentence: str, diagnosis: str = "needs_person") -> LineResult:
        """The result of a line that only a person can decide. sentence: why."""
        return LineResult(self.line(name), None, diagnosis, shown(sentence, LONGEST))

    def guarded(self, name: str, judge: Callable[..., LineResult], *given) -> LineResult:
        """The result of a line by its judge. Where that fails, this line needs a person, and no other."""
        try:
            return judge(*given)
        except Exception as error:
            said = f"The grader failed on this line ({type(error).__name__}); that is no mistake of yours."
            return self.needs_person(name, said, "fault")

    def unjudged(self, part: str, reason: str, facts: dict | None = None) -> PartResult:
        """A part that could not be judged at all: every line of it needs a person."""
        return PartResult(part, [self.needs_person(one.name, reason) for one in self.lines_of(part)], [], facts or {})


def ended(text: str) -> str:
    """A sentence with its full stop, which it may have already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def shown_rows(rows: Iterable[str]) -> list[str]:
    """Lines of which each is a rank's, as they may be shown: their columns stay."""
    kept = [str(row) for row in rows]
    more = [f"... and {len(kept) - MOST_ROWS} more"] if len(kept) > MOST_ROWS else []
    return [shown(row, LONGEST_ROW) for row in (*kept[:MOST_ROWS], *more)]


def shown(text: object, most: int = 80) -> str:
    """A student's text as it may stand in a sentence: one line, at most `most` characters, nothing in it that steers a
    terminal."""
    said = str(text)[: 4 * most].replace("\n", " ").replace("\t", " ")
    said = _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), said)
    return said if len(said) <= most else said[: most - 4] + " ..."
