"""The pages of the site as Sphinx reads them: markdown and notebooks in one tree, and what goes with them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder import content
from autograder.start.units import all_units
from tools.build_notebooks import homeworks, is_homework, solved_of, units
from tools.site import claims, glossary, mistakes, samples, start
from tools.site.play import pages as play
from tools.site.units import Links, page_of

CSS, ICON = (Path(__file__).with_name(name) for name in ("site.css", "favicon.svg"))


@dataclass
class Tree:
    """files: path -> text or bytes. figures: document -> alternative texts, in the order of its cells' pictures."""

    files: dict[str, str | bytes] = field(default_factory=dict)
    figures: dict[str, list[str]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)


def tree(root: Path | None = None, solutions: bool = True, only: tuple[str, ...] = (), playable: bool = False) -> Tree:
    """All pages, or those of the units and homeworks in `only` with what belongs to the whole course. playable: with
    those on which exercises are written (`tools.site.play`)."""
    root = root or content.root()
    names = [name for name in (*units(root), *homeworks(root)) if not only or name in only]
    pages = _documents(root, names)
    built, titles = Tree(), {}
    for name in names:
        titles[name] = _add(built, root, name, pages, solutions)
    built.files |= mistakes.pages(mistakes.public_exercises(), titles)
    if claims.claims():
        built.files["claims.md"] = claims.page(titles)
    if glossary.is_there(root):
        built.files["glossary.md"] = glossary.page(root, titles, pages)
    advice = root / "docs" / "which_parallelism.md"
    if advice.is_file():
        text = advice.read_text(encoding="utf-8")
        built.files[advice.name] = Links(root, "docs", advice.name, pages).rewritten(text)
    if playable:
        built.files |= play.pages(root, names, pages)
    built.files["_static/site.css"] = CSS.read_text(encoding="utf-8")
    built.files["favicon.svg"] = ICON.read_text(encoding="utf-8")
    for path in sorted((root / "images").glob("*.svg")):
        built.files[f"images/{path.name}"] = path.read_bytes()
    there = {path.removesuffix(".md") for path in built.files}
    puzzles = built.files.get("play/index.md")
    playing = play.front(puzzles) if isinstance(puzzles, str) else ""
    course, told = content.course(root), {unit.name: unit for unit in all_units(root)}
    places = start.Map(course, titles, list(pages.values()), told)
    built.files["index.md"] = start.page(places, solutions, there, playing, samples.page(course, titles))
    terms = glossary.patterns(root) if glossary.is_there(root) else {}
    built.files["site.json"] = json.dumps({"figures": built.figures, "terms": terms, "places": start.order(places)})
    return built


def _documents(root: Path, names: list[str]) -> dict[str, str]:
    """path of a released notebook or handout -> its document; a homework's handout comes first."""
    found = {}
    for name in names:
        stem, kind = solved_of(root, name).stem, "homework" if is_homework(name) else "notebooks"
        if is_homework(name) and (root / kind / name / "README.md").is_file():
            found[f"{kind}/{name}/README.md"] = f"homework/{name}_handout.md"
        found[f"{kind}/{name}/{stem}.ipynb"] = f"{'homework' if is_homework(name) else 'units'}/{name}.ipynb"
    return found


def _add(built: Tree, root: Path, name: str, pages: dict[str, str], solutions: bool) -> str:
    """The pages of one unit or homework; returns its title. Outputs of a finished homework are part of its solution."""
    source = solved_of(root, name)
    folder = f"{'homework' if is_homework(name) else 'notebooks'}/{name}"
    document = pages[f"{folder}/{source.name}"]
    links = Links(root, folder, document, pages)
    solved, released = (nbformat.read(path, as_version=4) for path in (source, root / folder / source.name))
    page = page_of(solved, released, solutions, solutions or not is_homework(name), links)
    built.files[document] = nbformat.writes(page.notebook)
    built.figures[document.removesuffix(".ipynb")] = page.figures
    title = re.search(r"^# (.+)$", "\n".join(c.source for c in released.cells if c.cell_type == "markdown"), re.M)[1]
    if f"{folder}/README.md" in pages:
        handout = Links(root, folder, f"homework/{name}_handout.md", pages)
        text = (root / folder / "README.md").read_text(encoding="utf-8")
        built.files[f"homework/{name}_handout.md"] = handout.rewritten(text)
        links.files += handout.files
    for path in dict.fromkeys(links.files):
        built.files |= _program(root, path)
    return title


def _program(root: Path, path: str) -> dict[str, str]:
    """The page of a program that students get."""
    name = Path(path).name
    text = (root / path).read_text(encoding="utf-8").rstrip()
    return {f"programs/{Path(path).stem}.md": f"---\norphan: true\n---\n# {name}\n\n````python\n{text}\n````\n"}
