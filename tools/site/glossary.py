"""The glossary: docs/glossary.md as a page, and the patterns by which a term is found in a unit's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import content
from tools.site.text import slug
from tools.site.units import Links

SOURCE = "docs/glossary.md"
ENTRY = re.compile(r"^- \*\*(?P<term>.+?)\*\*(?: \((?P<also>[^)]*)\))?: (?P<says>.+?) Units? (?P<links>\[.+)$", re.M)


@dataclass(frozen=True)
class Term:
    """also: other words for it. says: one or two sentences. links: to the units that explain it, as markdown."""

    name: str
    also: tuple[str, ...]
    says: str
    links: str


def is_there(root: Path) -> bool:
    """True if the course has a glossary."""
    return (root / SOURCE).is_file()


def terms(root: Path) -> list[Term]:
    """The glossary's entries, but for those that only units explain which the course leaves out. Raises ValueError on a
    line that is none."""
    text = (root / SOURCE).read_text(encoding="utf-8")
    found = [
        Term(m["term"], tuple(filter(None, (m["also"] or "").split("; "))), m["says"], m["links"])
        for m in ENTRY.finditer(text)
    ]
    if len(found) != len(re.findall(r"^- ", text, re.M)):
        raise ValueError(f"{SOURCE}: a line is not '- **term** (other word; other word): sentences. Units [NN](link)'")
    gone = content.course(root).left_out if (root / content.FILE).is_file() else ()
    kept = [replace(term, links=_without(term.links, gone)) for term in found]
    return [term for term in kept if term.links]


def _without(links: str, units: tuple[str, ...]) -> str:
    """The links that lead to none of these units."""
    return ", ".join(link for link in links.split(", ") if not any(f"/{unit}/" in link for unit in units))


def patterns(root: Path) -> dict[str, str]:
    """anchor -> a regular expression for the term in running text, in the singular or the plural."""
    found = {}
    for term in sorted(terms(root), key=lambda term: -len(term.name)):
        words = "|".join(re.escape(word).replace(r"\ ", r"\s+").replace(r"\-", "[- ]") for word in _words(term))
        found[anchor(term.name)] = rf"(?<![\w-])(?:{words})(?:e?s)?(?![\w-])"
    return found


def _words(term: Term) -> list[str]:
    return sorted((term.name, *term.also), key=len, reverse=True)


def anchor(term: str) -> str:
    return f"term-{slug(term)}"


def page(root: Path, titles: dict[str, str], pages: dict[str, str]) -> str:
    """The glossary, a heading for each letter; links lead to the units that are pages of the site."""
    links = Links(root, "docs", "glossary.md", pages)
    lines = ["# Glossary", "", "The terms of the field, and where the course explains them.", ""]
    letter = ""
    for term in terms(root):
        if term.name[0].upper() != letter:
            letter = term.name[0].upper()
            lines += ["", f"## {letter}", ""]
        also = f" ({', '.join(term.also)})" if term.also else ""
        units = re.sub(r"\[(\d\d)\]", lambda m: f"[{_title(m[1], titles)}]", term.links)
        lines += [f"({anchor(term.name)})=", f"**{term.name}**{also}", f": {term.says} *{links.rewritten(units)}*", ""]
    return "\n".join(lines)


def _title(number: str, titles: dict[str, str]) -> str:
    return next((title for unit, title in titles.items() if unit.startswith(f"{number}_")), f"unit {number}")
