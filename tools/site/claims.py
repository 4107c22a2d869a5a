"""The index of claims that a unit has computed again (its unit.toml), and whether the lessons still say so."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder import content
from tools.site.text import as_markdown, bare, slug

SPEAKS_OF_ONE = re.compile(r"\b(claims?|published)\b", re.IGNORECASE)


@dataclass(frozen=True)
class PageClaim:
    """A claim: who says what; what came out, in one sentence; the words of the lesson that show it, their section."""

    unit: str
    section: str
    by: str
    says: str
    verdict: str
    shown: str


def claims() -> list[PageClaim]:
    rooms = content.course().rooms
    return [PageClaim(room.unit, **one) for room in rooms for one in room.about.get("claim", [])]


def page(titles: dict[str, str]) -> str:
    """The index, by unit. titles: unit -> title, of the units that are pages of the site."""
    lines = [
        "# Claims, checked again",
        "",
        "What papers, talks and manuals say, and what came out when a unit computed it. The link leads to the cell.",
    ]
    unit = ""
    for claim in claims():
        if claim.unit != unit:
            unit = claim.unit
            lines += ["", f"## {titles.get(unit, unit)}", ""]
        where = f"units/{unit}.ipynb#{anchor(claim.section)}"
        title = as_markdown(claim.section)
        section = f"[{title}]({where})" if unit in titles else title
        lines += [
            f"- **{as_markdown(claim.says)}** ({as_markdown(claim.by)})",
            "",
            f"  {as_markdown(claim.verdict)} {section}",
        ]
    return "\n".join(lines) + "\n"


def anchor(section: str) -> str:
    """The anchor of a heading, as MyST makes it."""
    return slug(section)


def stale(notebooks: dict[str, NotebookNode]) -> list[str]:
    """Claims that the lessons do not say any more, and headings that speak of a claim where none is listed."""
    found = []
    for claim in claims():
        if claim.unit in notebooks:
            text, headings = _text(notebooks[claim.unit]), _headings(notebooks[claim.unit])
            if claim.section not in headings:
                found.append(f"{claim.unit}: has no section {claim.section!r}")
            if _flat(claim.shown) not in text:
                found.append(f"{claim.unit}: does not say {claim.shown!r}")
    known = {(claim.unit, claim.section) for claim in claims()}
    others = {(room.unit, heading) for room in content.course().rooms for heading in room.about.get("no_claim", [])}
    for unit, notebook in notebooks.items():
        for heading in _headings(notebook):
            if SPEAKS_OF_ONE.search(heading) and (unit, heading) not in known | others:
                found.append(f"{unit}: {heading!r} is in no claim of its unit.toml, nor in no_claim there")
    return found


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _headings(notebook: NotebookNode) -> list[str]:
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return [bare(line) for line in re.findall(r"^#{2,4} (.+)$", texts, flags=re.M)]


def _text(notebook: NotebookNode) -> str:
    outputs = [out.get("text", "") for c in notebook.cells if c.cell_type == "code" for out in c.outputs]
    return _flat(" ".join([*(cell.source for cell in notebook.cells if cell.cell_type == "markdown"), *outputs]))
