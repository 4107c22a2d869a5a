"""Judges what a reader has written on a page of the site, and draws it: one call, text in and JSON out.

The modules are imported with the stand-in for numpy (`autograder.browser.numbers`); afterwards `import numpy` fails as
it should where there is none. An answer that needs it is not judged, and says so: it may well be right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from autograder.browser.numbers import in_place_of_numpy

with in_place_of_numpy():
    from autograder.browser.inside import RunnersInside
    from autograder.exercise import Exercise, drawn
    from autograder.judging.cards import html_card, plain_card
    from autograder.judging.judge import chunks_of_file, judge_with, with_references
    from autograder.judging.measured import above, share
    from autograder.personal import FILE, OF_WORK, keep_records
    from autograder.registry import all_exercises, find
    from autograder.verdict import Result
    from labkit import timeline
    from labkit.cells.slicing import bound_names
    from labkit.relay.outcome import Outcome
    from labkit.schedules import Replay

    all_exercises()

LABEL = "your answer"
NOT_HERE = "No module named "
DRAWN_RANKS, DRAWN_ACTIONS = 8, 80  # more of them are no picture


def judged(function: str, source: str, runners: RunnersInside | None = None) -> Result | None:
    """The verdict on a text that defines `function`; None where it needs a module that is not here."""
    exercise, runners = find(function), runners or RunnersInside()
    try:
        chunks = chunks_of_file(source, function, LABEL)
    except SyntaxError as error:
        return judge_with(runners, exercise, None, note=f"Line {error.lineno} is no valid Python: {error.msg}.")
    if chunks is not None:
        uses = [find(name) for name in exercise.uses]
        chunks = with_references(chunks, uses, bound_names(source))
    result = judge_with(runners, exercise, chunks)
    return None if missing_module(runners.inside.outcomes) else result


def missing_module(outcomes: Sequence[Outcome]) -> str:
    """The name of a module that the answer wanted to import and that is not here; "" where there is none."""
    for outcome in outcomes:
        for error in (rank.error for rank in outcome.ranks):
            if error.get("type") == "ModuleNotFoundError":
                text = error["text"].removeprefix(NOT_HERE).removeprefix("import of ")
                return text.split()[0].strip("';").partition(".")[0]
    return ""


def told(function: str, source: str, work: Path | None = None) -> str:
    """The verdict as the page shows it, as JSON: verdict, diagnosis, card (HTML), said (a sentence), numbers
    of an order and its picture (SVG), or "".

    work: the folder where the reader's own records are kept (`autograder.personal`).
    """
    runners = RunnersInside()
    result = judged(function, source, runners)
    if result is None:
        return json.dumps(_not_judged(function, missing_module(runners.inside.outcomes)))
    if work is not None:
        keep_records(result, work)
    said = f"{function}: {result.verdict.replace('_', ' ')}, {result.score} of {result.max_score} points."
    ran = replayed(find(function), runners.inside.outcomes)
    if ran is not None:
        said = f"{said} {in_numbers(find(function), ran)}"
    return json.dumps(
        {
            "verdict": result.verdict,
            "diagnosis": result.diagnosis,
            "card": html_card(result),
            "said": " ".join(filter(None, (said, result.note, result.hint))),
            "numbers": "" if ran is None else in_numbers(find(function), ran),
            "picture": "" if ran is None else picture(ran),
        }
    )


def _not_judged(function: str, module: str) -> dict[str, str]:
    said = (
        f"Not judged: your answer needs `{module}`, and a page has Python's own library only. It may well be right: "
        "write it without, or try it in the installed course."
    )
    card, _ = plain_card(function, 0, find(function).points, "not judged", [said])
    return {"verdict": "not_judged", "diagnosis": "", "card": card, "said": said, "numbers": "", "picture": ""}


def replayed(exercise: Exercise, outcomes: Sequence[Outcome]) -> Replay | None:
    """The replay of the orders that the answer gave in its first case; None where it gave none that can be drawn."""
    replay, case = getattr(exercise, "replayed", None), drawn(exercise)[0]
    if replay is None or not outcomes or outcomes[0].ranks[0].state != "returned":
        return None
    try:
        ran = replay(outcomes[0].ranks[0].value, **case.known)
    except (ValueError, TypeError):  # no orders, or they stand still: the card says why
        return None
    fits = len(ran.orders) <= DRAWN_RANKS and max(map(len, ran.orders)) <= DRAWN_ACTIONS
    return ran if fits else None


def in_numbers(exercise: Exercise, ran: Replay) -> str:
    """Time, its distance from the bound, and memory of an order."""
    alive = [int(one) for one in ran.alive]
    bound = getattr(exercise, "slots", None)
    far = above(ran.elapsed, bound) if bound else None
    best = (
        "" if far is None else f", {share(far)} above the bound of {bound:g}" if far else ", and nobody can be faster"
    )
    most = f" ({exercise.most} are allowed)" if hasattr(exercise, "most") else ""
    return (
        f"{ran.elapsed:g} slots{best}; most alive on ranks 0 to {len(alive) - 1}: {', '.join(map(str, alive))}{most}."
    )


def picture(ran: Replay) -> str:
    """The timeline as SVG. A slot is drawn as a second, and what a forward pass leaves behind as 1 MB."""
    memory = [[(at, n * 1e6) for at, n in steps] for steps in ran.memory]
    return timeline.svg(ran.events, len(ran.orders), memory=memory)


def keep(work: Path, records: str) -> None:
    """Puts a reader's records, the text of their file, into a folder of their own."""
    work.mkdir(parents=True, exist_ok=True)
    (work / OF_WORK).touch()
    (work / FILE).write_text(records or "{}", encoding="utf-8")


def kept(work: Path) -> str:
    """The text of the file of a reader's records."""
    return (work / FILE).read_text(encoding="utf-8")
