"""Audit of a built site: every link and anchor inside, every address that a browser would load, every picture's
alternative text, every page's title and language.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {  # attributes whose address a browser fetches by itself
    "script": ("src",),
    "img": ("src", "srcset"),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "form": ("action",),
}
FETCHED = {"stylesheet", "icon", "shortcut icon", "preload", "modulepreload", "prefetch", "manifest", "preconnect"}
OUTSIDE = re.compile(r"^(?:https?:)?//", re.IGNORECASE)
IN_CSS = re.compile(r"url\(\s*[\"']?((?:https?:)?//[^\"')]+)|@import\s+[\"']((?:https?:)?//[^\"']+)", re.IGNORECASE)


@dataclass
class AuditedPage(HTMLParser):
    """The names on one page: ids, links, what it loads; and its pictures without a text."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    pictures: int = 0

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        fetched = tag != "link" or given.get("rel", "").lower() in FETCHED
        self.loads += [given[name] for name in LOADS.get(tag, ()) if given.get(name) and fetched]
        if tag == "img":
            self.pictures += 1
            if len(given.get("alt", "").split()) < 3:
                self.unnamed.append(given.get("src", ""))


@dataclass(frozen=True)
class SiteReport:
    """pages, links, pictures: how many there are. troubles: a line each; none: the site is whole."""

    pages: int
    links: int
    pictures: int
    troubles: tuple[str, ...]

    def __str__(self) -> str:
        said = (
            f"{self.pages} pages, {self.links:,} links inside, {self.pictures} figures; "
            f"{len(self.troubles)} broken links, outside addresses or figures without a text"
        )
        return "\n".join([*self.troubles, said])


def audit(folder: Path) -> SiteReport:
    """Looks at every page and style sheet below `folder`."""
    pages = {path.relative_to(folder).as_posix(): _read(path) for path in sorted(folder.rglob("*.html"))}
    troubles, links = [], 0
    for name, page in pages.items():
        for address in page.links:
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE):
                links += 1
                troubles += _broken(folder, pages, name, address)
        for address in page.loads:
            if OUTSIDE.match(address):
                troubles.append(f"{name}: loads {address}")
            elif not address.startswith("data:"):
                troubles += _broken(folder, pages, name, address.split(" ")[0])
        troubles += [f"{name}: no alternative text for {src}" for src in page.unnamed]
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8", errors="replace")
        troubles += [f"{path.relative_to(folder)}: loads {one or other}" for one, other in IN_CSS.findall(text)]
    return SiteReport(len(pages), links, sum(page.pictures for page in pages.values()), tuple(troubles))


def _read(path: Path) -> AuditedPage:
    page = AuditedPage()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _broken(folder: Path, pages: dict[str, AuditedPage], here: str, address: str) -> list[str]:
    """Sentences on what is wrong with an address inside the site: one, or none."""
    parts = urlsplit(address)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(parts.path))) if parts.path else here
    if not (folder / path).is_file() and not (folder / path / "index.html").is_file():
        return [f"{here}: {address} leads nowhere"]
    if parts.fragment and path in pages and unquote(parts.fragment) not in pages[path].ids:
        return [f"{here}: {address} leads to no such place on that page"]
    return []
