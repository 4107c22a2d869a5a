"""The page that a reader meets first: what the course is, where to begin, paths, its parts, the indexes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder import content
from autograder.pages import span
from autograder.start.units import Unit
from tools.site.text import slug

WITH = "Exercises stand with their stubs; a solution is folded away below each. Think first."
WITHOUT = "Exercises stand with their stubs; what is below them came out of a solution that is not shown here."


LOOK_UP = {  # page -> its title, and what the first page says of it
    "which_parallelism": ("Which parallelism, when?", "each axis, what it costs, and a path to follow."),
    "mistakes/index": ("Index of mistakes", "*my ranks hang*, *my numbers are p times too large*. By what you see."),
    "claims": ("Claims, checked again", "what others have published, and what came out when a unit computed it."),
    "glossary": ("Glossary", "the field's terms, a sentence or two each."),
}


PATHS = (
    "Minutes are those of each unit's core: counted, not measured on people. What is marked *stretch* in a unit can be "
    "left for another day."
)
COURSE = "## The course as pages\n\n"


@dataclass(frozen=True)
class Map:
    """The pages that the first one leads to. titles: unit or homework -> title. documents: pages of units and
    homeworks, in order, "units/03_collectives.ipynb". units: what the notebooks say of themselves."""

    course: content.Content
    titles: dict[str, str]
    documents: list[str]
    units: dict[str, Unit]

    @property
    def parts(self) -> list[content.Part]:
        """The parts as far as their units are on the site; one without a title where the course names none."""
        there = tuple(name for name in self.course.units if name in self.titles)
        parts = self.course.parts or (content.Part("", there),)
        found = [content.Part(part.title, tuple(name for name in part.units if name in there)) for part in parts]
        return [part for part in found if part.units]

    def heading(self, part: content.Part) -> str:
        """A part's heading, "Part 2: Data parallelism"."""
        return f"Part {self.parts.index(part) + 1}: {part.title}" if part.title else "The units"

    def document(self, name: str) -> str:
        """The page of a unit; of a homework the first one, its handout."""
        return next(path for path in self.documents if _name(path) == name)

    def link(self, name: str) -> str:
        """The unit's title as a link, or as words where the site has no page of it."""
        if name in self.titles:
            return f"[{self.titles[name]}]({self.document(name)})"
        return self.units[name].title if name in self.units else name

    def minutes(self, *names: str) -> int:
        """The minutes of the cores of these units."""
        return sum(self.units[name].minutes or 0 for name in names if name in self.units)


def page(places: Map, solutions: bool, there: set[str], playing: str = "", samples: str = "") -> str:
    """The first words of the course's README, if it has one; where to begin; paths; the units in their parts.

    there: the pages that the site has. playing: a puzzle for this page, as markdown. samples: what a check says,
    likewise.
    """
    readme = places.course.root / "README.md"
    about = re.split(r"\n\s*\n", readme.read_text(encoding="utf-8"))[1] if readme.is_file() else ""
    found = [name for name in LOOK_UP if name in there]
    links = "\n".join(f"- [{LOOK_UP[name][0]}]({name}.md): {LOOK_UP[name][1]}" for name in found)
    pages = f"""These pages are for reading. Their cells were run, and what each gave stands below it.
{WITH if solutions else WITHOUT}
To run the cells, to write the exercises and to have them checked, install the course: its README says how, in two
commands."""
    return "\n\n".join(
        [
            f"# {places.course.title}",
            about,
            _begin(places, bool(playing)),
            playing,
            samples,
            _paths(places),
            _units(places),
            f"## Look it up\n\n{links}" if links else "",
            f"{COURSE}{pages}",
            *(_toctree(places.heading(part), [_stem(places.document(n)) for n in part.units]) for part in places.parts),
            _toctree("Homework", _homework(places.titles, places.documents)),
            _toctree("Look it up", found),
        ]
    )


def _begin(places: Map, playing: bool) -> str:
    """A box with the first unit, and what else one can do here."""
    first = next((name for name in places.course.units if name in places.titles), None)
    if first is None:
        return ""
    minutes = places.minutes(first)
    links = [f"**Begin here: {places.link(first)}**" + (f" ({minutes} minutes)" if minutes else "")]
    links += ["[write an exercise in your browser](play/exercises.md)"] if playing else []
    links += ["[choose a path](#paths)"] if _paths(places) else []
    return ":::{container} begin\n" + " · ".join(links) + "\n:::"


def _paths(places: Map) -> str:
    """The paths, each with its units and their minutes; "" where the site lacks units of all of them."""
    shown = []
    for route in places.course.routes:
        if not set(route.units) <= set(places.titles):
            continue
        steps = "\n".join(f"1. {places.link(name)}, {places.minutes(name)} minutes" for name in route.units)
        known = f"\n\nTaken as known: {', '.join(map(places.link, route.known))}." if route.known else ""
        time = span(60 * places.minutes(*route.units))
        shown.append(f"### {route.title}\n\n{route.says} {len(route.units)} units, {time}.\n\n{steps}{known}")
    return "\n\n".join(["## Paths", PATHS, *shown]) if shown else ""


def _units(places: Map) -> str:
    """Tables of what can be done after each unit (its `after`), one for each part, and one for homework."""
    tables = [(places.heading(part), part.units) for part in places.parts]
    homework = tuple(name for name in places.titles if name in places.course.homework)
    return "\n\n".join(_table(places, heading, names) for heading, names in [*tables, ("Homework", homework)] if names)


def _table(places: Map, heading: str, names: tuple[str, ...]) -> str:
    rows = []
    for name in names:
        minutes = places.minutes(name)
        after = places.course.room(name).about.get("after", "")
        rows.append(f"| {places.link(name)}{f', {minutes} minutes' * bool(minutes)} | {after} |")
    return "\n".join([f"## {heading}", "", "| unit | afterwards |", "|---|---|", *rows])


def order(places: Map) -> list[dict[str, str]]:
    """The pages of units and homeworks in the course's order, {"document", "title", "part", "place"}; place: where the
    first page speaks of that part."""
    found = []
    for path in places.documents:
        name = _name(path)
        part = next((part for part in places.parts if name in part.units), None)
        heading = "Homework" if part is None else places.heading(part)
        words = (
            f"Part {places.parts.index(part) + 1} of {len(places.parts)}: {part.title}"
            if part and part.title
            else heading
        )
        handout = (
            f"{places.titles[name]}, the notebook" if path.startswith("homework/") and path.endswith(".ipynb") else ""
        )
        found.append(
            {"document": _stem(path), "title": handout or places.titles[name], "part": words, "place": slug(heading)}
        )
    return found


def _homework(titles: dict[str, str], documents: list[str]) -> list[str]:
    """Handouts by their own title, notebooks by one that says so."""
    found = []
    for path in (path for path in documents if path.startswith("homework/")):
        notebook = path.endswith(".ipynb")
        found.append(f"{titles[_name(path)]}, the notebook <{_stem(path)}>" if notebook else _stem(path))
    return found


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


def _name(path: str) -> str:
    return _stem(path).rpartition("/")[2].removesuffix("_handout")


def _toctree(caption: str, documents: list[str]) -> str:
    lines = "\n".join(documents)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 1\n\n{lines}\n```\n" if documents else ""
