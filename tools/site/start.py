"""The page that a reader meets first: what the course is, its map, the indexes."""

from __future__ import annotations

import re
from pathlib import Path

WITH = "Exercises stand with their stubs; a solution is folded away below each. Think first."
WITHOUT = "Exercises stand with their stubs; what is below them came out of a solution that is not shown here."


def page(root: Path, titles: dict[str, str], documents: list[str], solutions: bool) -> str:
    """The README's first words and its map, with links.

    titles: unit or homework -> title. documents: pages of units and homeworks, in order, "units/03_collectives.ipynb".
    """
    readme = (root / "README.md").read_text(encoding="utf-8")
    title, about = re.match(r"# (.+)\n", readme)[1], re.split(r"\n\s*\n", readme)[1]
    lessons = [path for path in documents if path.startswith("units/")]
    return f"""# {title}

{about}

These pages are for reading. Their cells were run, and what each gave stands below it. {WITH if solutions else WITHOUT}
To run the cells, to write the exercises and to have them checked, install the course: its README says how, in two
commands.

- [Which parallelism, when?](which_parallelism.md): each axis, what it costs, and a path to follow.
- [Index of mistakes](mistakes/index.md): *my ranks hang*, *my numbers are p times too large*. By what you see.
- [Claims, checked again](claims.md): what others have published, and what came out when a unit computed it.
- [Glossary](glossary.md): the field's terms, a sentence or two each.

{_map(readme, titles, documents)}

{_toctree("Units", [_stem(path) for path in lessons])}
{_toctree("Homework", _homework(titles, documents))}
{_toctree("Look it up", ["which_parallelism", "mistakes/index", "claims", "glossary"])}
"""


def _map(readme: str, titles: dict[str, str], documents: list[str]) -> str:
    """The table of the README; a homework leads to the first of its pages."""
    after = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", readme, flags=re.M))
    first = {name: next(path for path in documents if _name(path) == name) for name in titles}
    rows = [f"| [{titles[name]}]({path}) | {after.get(name, '')} |" for name, path in first.items()]
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
