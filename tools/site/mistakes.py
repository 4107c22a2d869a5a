"""The index of mistakes, made of the exercises: every diagnosis of every exercise, by what a student sees of it."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import content
from autograder.exercise import Diagnosis, Exercise
from autograder.judging.diagnoses import BUILT_IN
from autograder.registry import all_exercises
from labkit.watch.hang import KINDS
from tools.site.symptoms import SYMPTOMS, symptom, symptoms_of
from tools.site.text import as_markdown, slug

FOLDER = "mistakes"
NOTHING_TO_SEE = {"unrecognised"}  # no mistake of its own: a check says so where it knows no name


@dataclass(frozen=True)
class IndexEntry:
    """A line of the index. unit, function: the exercise; both "" where it can happen in any. symptom: of `SYMPTOMS`."""

    symptom: str
    name: str
    text: Diagnosis
    unit: str = ""
    function: str = ""


def public_exercises() -> list[Exercise]:
    """The exercises of the repository, without an instructor's own, which lie elsewhere."""
    public = {room.exercises.resolve() for room in content.course().rooms}
    return [e for e in all_exercises() if Path(inspect.getfile(type(e))).resolve() in public]


def entries(of: Iterable[Exercise]) -> list[IndexEntry]:
    """The diagnoses of any exercise, then every diagnosis of these, in their order."""
    common = {**{name: Diagnosis(why) for name, why in KINDS.items()}, **BUILT_IN}
    found = [IndexEntry(symptom(n, t.why), n, t) for n, t in common.items() if n not in NOTHING_TO_SEE]
    for exercise in of:
        seen = symptoms_of(exercise)
        found += [IndexEntry(seen[n], n, t, exercise.unit, exercise.function) for n, t in exercise.diagnoses.items()]
    return found


def pages(of: Iterable[Exercise], titles: dict[str, str]) -> dict[str, str]:
    """The index as pages: path -> markdown. titles: unit -> title, of the units that are pages of the site."""
    by_symptom: dict[str, list[IndexEntry]] = defaultdict(list)
    for entry in entries(of):
        by_symptom[entry.symptom].append(entry)
    built = {f"{FOLDER}/index.md": _overview(by_symptom)}
    for key, found in by_symptom.items():
        built[f"{FOLDER}/{key}.md"] = _page(key, found, titles)
    return built


def _overview(by_symptom: dict[str, list[IndexEntry]]) -> str:
    total = sum(map(len, by_symptom.values()))
    lines = [
        "# Index of mistakes",
        "",
        f"{total:,} mistakes have a name here: what a check says when it recognises one, and how to mend it. They are "
        "sorted by what you see before you know the name. What do you see?",
        "",
    ]
    shown = [key for key in SYMPTOMS if key in by_symptom]
    for key in shown:
        says, about = SYMPTOMS[key]
        lines.append(f"- **[{says}]({key}.md)** ({len(by_symptom[key])}). {about}")
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", *shown, "```", ""])


def _page(key: str, found: list[IndexEntry], titles: dict[str, str]) -> str:
    says, about = SYMPTOMS[key]
    by_unit: dict[str, list[IndexEntry]] = defaultdict(list)
    for entry in found:
        by_unit[entry.unit].append(entry)
    lines = [f"# {says}", "", about, ""]
    for unit, of_unit in by_unit.items():
        lines += ["", f"## {titles.get(unit, unit) or 'In any exercise'}", ""]
        lines += [_line(entry, linked=unit in titles) for entry in of_unit]
    return "\n".join(lines) + "\n"


def _line(entry: IndexEntry, linked: bool) -> str:
    """The text of a mistake: what the student's code does, how to mend it, then the name and the exercise."""
    where = f"[`{entry.function}`](#{anchor(entry.function)})" if linked else f"`{entry.function}`"
    sentences = as_markdown(entry.text.why) + (f" *Mend it:* {as_markdown(entry.text.how)}" if entry.text.how else "")
    return f"- **{as_markdown(entry.name.replace('_', ' '))}**{f', {where}' if entry.function else ''}: {sentences}"


def anchor(function: str) -> str:
    """The label of an exercise's cell."""
    return f"exercise-{slug(function)}"
