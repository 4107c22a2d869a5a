"""The grades of a submitted notebook, as plain data that is stored and read again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from autograder.grading.submission.reading import SubmissionFlag

FORMAT = 3  # of the JSON of `Graded`


# -- judging ----------------------------------------------------------------------------------------------------------


@dataclass
class ItemGrade:
    """The grade of one cell. result: of a check (`autograder.verdict.Result` as JSON); None for an instructor's test
    or a fault of ours.

    said: lines to show where there is no result. figure: SVG of the decisive case. fault: what went wrong on our
    side. homework: of a part of the homework (`autograder.homework.rubric.PartResult` as JSON). extra: points on top
    of max_points. waits: some of its points wait for a person. follows: the function whose mistake this one seems to
    be, too (`autograder.judging.following`); a person decides.
    """

    grade_id: str
    points: float
    max_points: float
    verdict: str
    diagnosis: str = ""
    result: dict | None = None
    said: list[str] = field(default_factory=list)
    figure: str = ""
    fault: str = ""
    seconds: float = 0.0
    homework: dict | None = None
    extra: float = 0.0
    waits: bool = False
    follows: str = ""


@dataclass
class Graded:
    """The grades of one submitted notebook, as plain data. hints: how much its cards tell unless somebody asks
    otherwise."""

    unit: str
    items: list[ItemGrade]
    flags: list[SubmissionFlag]
    hints: str = "how"
    refused: str = ""
    seconds: float = 0.0

    @property
    def points(self) -> float:
        """The points that were earned, extra credit included."""
        return sum(item.points + item.extra for item in self.items)

    @property
    def max_points(self) -> float:
        """The points that could be earned, without extra credit."""
        return sum(item.max_points for item in self.items)

    @property
    def needs_person(self) -> bool:
        """True if somebody should look at it."""
        return any(flag.needs_person for flag in self.flags)

    def to_json(self) -> dict:
        """Plain data, to be kept."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict) -> Graded:
        """Raises ValueError for what another version wrote, or what is damaged."""
        try:
            if data["format"] != FORMAT:
                raise ValueError("written by another version")
            items = [ItemGrade(**item) for item in data["items"]]
            flags = [SubmissionFlag(**flag) for flag in data["flags"]]
            return cls(data["unit"], items, flags, data["hints"], data["refused"], data["seconds"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a result of the grader: {error!r}") from None
