"""The page that a reader meets first: what the course is, its map, the indexes."""

from __future__ import annotations

import re

from autograder import content

WITH = "Exercises stand with their stubs; a solution is folded away below each. Think first."
WITHOUT = "Exercises stand with their stubs; what is below them came out of a solution that is not shown here."


LOOK_UP = {  # page -> its title, and what the first page says of it
    "which_parallelism": ("Which parallelism, when?", "each axis, what it costs, and a path to follow."),
    "mistakes/index": ("Index of mistakes", "*my ranks hang*, *my numbers are p times too large*. By what you see."),
    "claims": ("Claims, checked again", "what others have published, and what came out when a unit computed it."),
    "glossary": ("Glossary", "the field's terms, a sentence or two each."),
}


COURSE = "\n## The course as pages\n\n"


def page(
    course: content.Content,
    titles: dict[str, str],
    documents: list[str],
    solutions: bool,
    there: set[str],
    playing: str = "",
) -> str:
    """The first words of the course's README, if it has one, and a map of its units, with links.

    titles: unit or homework -> title. documents: pages of units and homeworks, in order, "units/03_collectives.ipynb".
    there: the pages that the site has. playing: a puzzle for this page, as markdown.
    """
    readme = course.root / "README.md"
    about = re.split(r"\n\s*\n", readme.read_text(encoding="utf-8"))[1] if readme.is_file() else ""
    lessons = [path for path in documents if path.startswith("units/")]
    found = [name for name in LOOK_UP if name in there]
    links = "\n".join(f"- [{LOOK_UP[name][0]}]({name}.md): {LOOK_UP[name][1]}" for name in found)
    return f"""# {course.title}

{about}

{f"{playing}{COURSE}" if playing else ""}\
These pages are for reading. Their cells were run, and what each gave stands below it. {WITH if solutions else WITHOUT}
To run the cells, to write the exercises and to have them checked, install the course: its README says how, in two
commands.

{links}

{_map(course, titles, documents)}

{_toctree("Units", [_stem(path) for path in lessons])}
{_toctree("Homework", _homework(titles, documents))}
{_toctree("Look it up", found)}
"""


def _map(course: content.Content, titles: dict[str, str], documents: list[str]) -> str:
    """A table of what can be done after each unit (its `after`); a homework leads to the first of its pages."""
    first = {name: next(path for path in documents if _name(path) == name) for name in titles}
    rows = [
        f"| [{titles[name]}]({path}) | {course.room(name).about.get('after', '')} |" for name, path in first.items()
    ]
    return "\n".join(["| unit | afterwards |", "|---|---|", *rows])


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
