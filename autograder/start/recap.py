"""The recap at the beginning of a unit: questions on the units before it, answered in a cell, checked at once, never
graded.

Each unit's `unit.toml` has three. They are asked in the next unit; the first of them, which says what matters most,
comes back three and six units later. So a recap has three to five. The page shows the questions
(tools/build_notebooks.py writes that cell), and `recap("05", "b", 0.25, "?")` below it says of each answer whether it
is right, and why. Nothing but the standard library is wanted before that.
"""

from __future__ import annotations

import functools
import html
import math
import string
from dataclasses import dataclass

import autograder.content as content
import autograder.progress as progress

NEXT = 3  # so many questions of a unit are asked in the next one
BACK = (3, 6)  # and so many units later the first of them again
UNANSWERED = "?"


@dataclass(frozen=True)
class RecapQuestion:
    """unit: where it is taught. ask, why: Markdown. choices: none where the answer is a number. answer: a letter, or a
    number with its tolerance (relative).
    """

    unit: str
    name: str
    ask: str
    answer: str | float
    why: str
    choices: tuple[str, ...] = ()
    tolerance: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.unit}/{self.name}"

    @property
    def said(self) -> str:
        """The answer in words: "b, every rank", "0.25"."""
        if not self.choices:
            return f"{self.answer:g}"
        return f"{self.answer}, {self.choices[string.ascii_lowercase.index(self.answer)]}"

    def judge(self, given: object) -> bool | None:
        """True if an answer is right, None if none was given. Raises ValueError, with a sentence, if it cannot be an
        answer."""
        text = str(given).strip().strip("().").lower()
        if text in ("", UNANSWERED):
            return None
        if self.choices:
            if text not in self.letters:
                raise ValueError(f"one of {', '.join(self.letters)} is wanted, this is {str(given)[:40]!r}")
            return text == self.answer
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"a number is wanted, this is {str(given)[:40]!r}") from None
        return math.isclose(value, self.answer, rel_tol=self.tolerance, abs_tol=1e-12)

    @property
    def letters(self) -> str:
        return string.ascii_lowercase[: len(self.choices)]


@functools.cache
def questions() -> tuple[RecapQuestion, ...]:
    """All questions, by unit, in the order of its file."""
    found = [
        RecapQuestion(room.unit, **{**one, "choices": tuple(one.get("choices", ()))})
        for room in content.course().rooms
        for one in room.about.get("question", [])
    ]
    return tuple(sorted(found, key=lambda question: question.unit))


def due(unit: str, known: tuple[RecapQuestion, ...] | None = None) -> list[RecapQuestion]:
    """The questions of the unit's recap: the last unit's questions first. Units are counted among those that have
    questions.

    unit: its name, or the number that the name begins with.
    """
    known = questions() if known is None else known
    before = sorted({question.unit for question in known if question.unit[:2] < unit[:2]})
    of = {name: [question for question in known if question.unit == name] for name in before}
    asked = of[before[-1]][:NEXT] if before else []
    for back in BACK:
        asked += of[before[-back]][:1] if len(before) >= back else []
    return asked


def as_markdown(unit: str) -> str:
    """The recap of a unit as a page shows it; "" where there is nothing to ask."""
    asked = due(unit)
    if not asked:
        return ""
    lines = ["## Recap", "", "From the units before this one. Answer in the cell below; nothing is graded.", ""]
    for number, question in enumerate(asked, 1):
        lines.append(f"{number}. (unit {question.unit[:2]}) {question.ask}")
        lines += [f"    - {letter}) {text}" for letter, text in zip(question.letters, question.choices, strict=True)]
    return "\n".join(lines)


def as_cell(unit: str) -> str:
    """The cell below it."""
    marks = ", ".join(['"?"'] * len(due(unit)))
    return f'from autograder import recap\n\nrecap("{unit[:2]}", {marks})  # a letter or a number in place of each "?"'


def recap(unit: str, *answers: object) -> None:
    """Check the answers to the recap of `unit` ("05"), in the order of the questions above. "?" is none."""
    asked = due(unit)
    progress.keep_time(next((room.unit for room in content.course().rooms if room.unit[:2] == unit[:2]), unit))
    if len(answers) != len(asked):
        print(f"recap: unit {unit[:2]} has {len(asked)} questions, these are {len(answers)} answers.")
        return
    _show([_judged(question, answer) for question, answer in zip(asked, answers, strict=True)])


def _judged(question: RecapQuestion, answer: object) -> tuple[RecapQuestion, bool | None, str]:
    """(question, right, what to say first)."""
    try:
        right = question.judge(answer)
    except ValueError as error:
        return question, None, f"{error}."
    if right is None:
        return question, None, "not answered yet."
    progress.keep_recap(question.key, right)
    return question, right, "right." if right else f"not {str(answer).strip()}. Unit {question.unit[:2]} has it."


def as_solved(unit: str) -> tuple[str, str]:
    """(HTML, text) of a recap whose answers are all right."""
    lines = [(question, True, f"{question.said}.") for question in due(unit)]
    return _html(lines), _text(lines)


def _show(lines: list) -> None:
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        print(_text(lines))
    else:
        display({"text/html": _html(lines), "text/plain": _text(lines)}, raw=True)


def _text(lines: list) -> str:
    return "\n".join(
        f"{number}. {said}{f' {question.why}' if right else ''}"
        for number, (question, right, said) in enumerate(lines, 1)
    )


def _html(lines: list) -> str:
    rows = []
    for question, right, said in lines:
        sign, colour = {True: ("✓", "success"), False: ("✗", "error"), None: ("·", "")}[right]
        tint = f' style="color:var(--jp-{colour}-color1, inherit)"' if colour else ""
        more = _coded(question.why) if right else ""
        if right is False:
            answer = f"{_coded(question.said)}. {_coded(question.why)}"
            more = f"<details><summary>the answer</summary>{answer}</details>"
        rows.append(f"<li><strong{tint}>{sign}</strong> {_coded(said)} {more}</li>")
    return f'<ol style="margin:4px 0;max-width:62em">{"".join(rows)}</ol>'


def _coded(text: str) -> str:
    """Escaped, `code` as code, Markdown's emphasis as such."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))
