"""A unit's or a homework's notebook as a page: stubs where students write, solutions folded away or left out, labels to
link to, links that lead to pages.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.site import exercises
from tools.site.figures import alternatives
from tools.site.mistakes import anchor

MARKERS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n?", re.M)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS[^\n]*\n?", re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
SHOW = "Show a solution"
# Cells that `make notebooks` gives to every unit: what is for Lab alone, and the answers to the recap's questions.
LAB_ALONE = {"course-card-text", "course-card", "course-next"}
RECAP, ANSWERS = "course-recap", "course-recap-answers"
# What is said where there is a kernel -> what is true of a page.
WITHOUT_KERNEL = {
    "Answer in the cell below; nothing is graded.": "The answers are folded below the questions.",
    "YOUR ANSWER HERE": "*Write your answer down before you look at what it should say.*",
}
GIVEN_LINES = 12  # of code that only defines things; as many are folded


@dataclass
class Page:
    """The files that Sphinx gets: the notebook, a text for each picture that its cells drew, files that its text links
    to.
    """

    notebook: NotebookNode
    figures: list[str]
    files: list[str] = field(default_factory=list)


def page_of(solved: NotebookNode, released: NotebookNode, solutions: bool, outputs: bool, where: Links) -> Page:
    """The page of a notebook.

    solved: with its solutions and outputs. released: the same for students, cell by cell. Without `solutions` no line
    of the page comes from `solved` but the outputs, and these only with `outputs`.
    """
    if [cell.id for cell in solved.cells] != [cell.id for cell in released.cells]:
        raise ValueError("the released notebook has other cells than the solved one: run `make notebooks`")
    shown = nbformat.v4.new_notebook(metadata=released.metadata)
    boxes = exercises.boxes(released.cells)
    for number, (full, stub) in enumerate(zip(solved.cells, released.cells, strict=True)):
        made, box = _cells(full, stub, solutions, outputs, where), boxes.get(number)
        shown.cells += made if box is None else _boxed(made, box)
    return Page(shown, alternatives(shown), where.files)


def _boxed(cells: list[NotebookNode], box: exercises.Edge) -> list[NotebookNode]:
    """A cell's cells with the beginning or the end of an exercise's box: behind the heading, before what follows."""
    if not box.opens:
        return [*cells, _markdown("</div>")]
    if not box.heading:
        return [_markdown(box.opens), *cells]
    before, after = exercises.at_heading(cells[0].source, box.heading)
    return [_markdown(before), _markdown(box.opens), *([_markdown(after)] if after else []), *cells[1:]]


def _cells(full: NotebookNode, stub: NotebookNode, solutions: bool, outputs: bool, where: Links) -> list[NotebookNode]:
    """The cells of the page, up to four, that one cell of the lesson becomes."""
    if full.id in LAB_ALONE:
        return []
    if full.id == ANSWERS:
        return [_folded(_code(stub.source, stub, full.outputs, full.execution_count), "hide-cell", "the answers")]
    if full.cell_type == "markdown":
        return _text(full, stub, solutions, where)
    cell = _code(HIDDEN.sub("", stub.source), stub, full.outputs if outputs else [], full.execution_count)
    marks = full.metadata.get("nbgrader", {})
    name = marks.get("grade_id", "")
    label = [_markdown(f"({anchor(name)})=")] if marks.get("solution") and name else []
    if not marks and not cell.outputs and (given := exercises.given(cell.source, GIVEN_LINES)):
        return [_folded(cell, "hide-input", f"what is given: {given}")]
    if full.source == stub.source or not solutions:
        return [*label, cell]
    shown, cell.outputs = cell.outputs, []
    answer = _code(MARKERS.sub("", HIDDEN.sub("", full.source)), full, shown, full.execution_count)
    return [*label, cell, _folded(answer, "hide-input", "a solution")]


def _folded(cell: NotebookNode, tag: str, what: str) -> NotebookNode:
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
    cell.metadata["mystnb"] = {"code_prompt_show": f"Show {what}", "code_prompt_hide": f"Hide {what}"}
    return cell


def _text(full: NotebookNode, stub: NotebookNode, solutions: bool, where: Links) -> list[NotebookNode]:
    """Text; of a written question the student's place, and what an answer should say folded away."""
    words = stub.source
    for old, new in WITHOUT_KERNEL.items() if stub.id == RECAP or stub.metadata.get("nbgrader") else ():
        words = words.replace(old, new)
    found = [_markdown(where.rewritten(words))]
    if full.source != stub.source and solutions:
        found.append(_markdown(f"<details class='solution'><summary>{SHOW}</summary>\n"))
        found.append(_markdown(where.rewritten(MARKERS.sub("", full.source))))
        found.append(_markdown("</details>"))
    return found


def _markdown(source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source)


def _code(source: str, like: NotebookNode, outputs: list, count: int | None) -> NotebookNode:
    metadata = {key: like.metadata[key] for key in ("tags", "alt") if key in like.metadata}
    return nbformat.v4.new_code_cell(source.rstrip(), outputs=list(outputs), execution_count=count, metadata=metadata)


class Links:
    """The targets of a lesson's links on the site.

    folder: of the released notebook, from the repository's root ("notebooks/03_collectives"). pages: what is a page,
    path from the root -> document of the site. root: the repository. here: the page's own document.
    """

    def __init__(self, root: Path, folder: str, here: str, pages: dict[str, str]):
        self.root, self.folder, self.here, self.pages, self.files = root, folder, here, pages, []

    def rewritten(self, text: str) -> str:
        """The text with its links to the repository's files changed to pages of the site, code excepted."""
        parts = re.split(r"(^```.*?^```[^\n]*$|`[^`\n]*`(?!\]))", text, flags=re.M | re.S)
        return "".join(part if k % 2 else LINK.sub(self._link, part) for k, part in enumerate(parts))

    def _link(self, match: re.Match) -> str:
        bang, words, target = match.groups()
        if re.match(r"[a-z]+:|#|/", target):
            return match.group(0)
        path, _, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(self.folder, path))
        if path.startswith("images/"):
            return f"{bang}[{words}]({self._from_here(path)})"
        if path in self.pages:
            return f"[{words}]({self._from_here(self.pages[path])}{'#' * bool(fragment)}{fragment})"
        if path.startswith(self.folder) and path.endswith(".py") and (self.root / path).is_file():
            document = f"programs/{posixpath.basename(path).removesuffix('.py')}.md"
            self.files.append(path)
            return f"[{words}]({self._from_here(document)})"
        return words  # in the repository, but no page: what it is called must do

    def _from_here(self, document: str) -> str:
        return posixpath.relpath(document, posixpath.dirname(self.here))
