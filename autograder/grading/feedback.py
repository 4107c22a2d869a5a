"""The steps of ``nbgrader generate_feedback``, and its page, which asks no other host."""

from __future__ import annotations

import re

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade

from autograder.grading.formulas import with_formulas
from autograder.shown import MOST_SHOWN, cut, shown

_SCRIPT = re.compile(
    r"(?:<!-- Loading mathjax macro -->\s*)?<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", re.DOTALL
)


# Where a block of code begins and names its language, for which a page takes one of some hundred lexers.
_FENCE = re.compile(r"^((?:[ \t>*+\-0-9.)]|\[[^\]\n]*\]:?)*(?:`{3,}(?=[^`\n]*$)|~{3,})[^\S\n]*)([^\s`]+)", re.MULTILINE)
_LANGUAGES = frozenset(("bash", "console", "py", "python", "python3", "text"))
_LEXER = {"name": "python", "pygments_lexer": "python3"}  # IPython's has one for each magic, and is slow over dots
_OUTPUTS = 50  # of a cell
_ELSEWHERE = 200_000  # characters of all cells without points or answers; the longest page of the course has 42,000
_LEAST = 200  # of each of these, all the same
_SIGNS = re.compile(r"([^\w\s])\1{99,}")  # so many of one sign mean nothing in Markdown, and take time


def short_notebook(notebook: NotebookNode) -> NotebookNode:
    """The notebook, changed in place, with cells that are short enough for what makes a page of them."""
    notebook.metadata.language_info = NotebookNode(_LEXER)
    left = _ELSEWHERE
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _FENCE.sub(_fence, _SIGNS.sub(lambda found: found[0][:100], cell.source))
        most = MOST_SHOWN if cell.metadata.get("nbgrader") else min(MOST_SHOWN, max(left, _LEAST))
        cell.source = shown(cell.source, most, mark="# " if cell.cell_type == "code" else "\n")
        left -= 0 if cell.metadata.get("nbgrader") else len(cell.source)
        if cell.cell_type == "code":
            cell.outputs = _short_outputs(cell.outputs)
    return notebook


def _fence(found: re.Match) -> str:
    return found[0] if found[2] in _LANGUAGES else f"{found[1]}text"


def _short_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs with no more text than a cell may show. A card's HTML stays: it is the grader's own."""
    left = MOST_SHOWN
    for output in outputs[:_OUTPUTS]:
        if output.output_type == "stream":
            output.text = cut(output.text, left)
            left = max(left - len(output.text), 0)
        elif output.output_type == "error":
            output.traceback = [cut("\n".join(output.traceback), left)]
            left = max(left - len(output.traceback[0]), 0)
        elif "text/html" not in output.data and "text/plain" in output.data:
            output.data["text/plain"] = cut(output.data["text/plain"], left)
            left = max(left - len(output.data["text/plain"]), 0)
    return outputs[:_OUTPUTS]


class CardsAlone(NbGraderPreprocessor):
    """Feedback without the number below each card: nbgrader reads the points there, a student on the card."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "code" and is_grade(cell):
            cell.outputs = [output for output in cell.outputs if output.output_type != "execute_result"]
        return cell, resources


class Formulas(NbGraderPreprocessor):
    """Formulas of the text as MathML, which needs no script."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "markdown":
            cell.source = with_formulas(cell.source)
        return cell, resources


class FeedbackExporter(HTMLExporter):
    """nbgrader's page of short cells, without its script for formulas, which comes from another host. The rest is in
    the file."""

    def from_notebook_node(self, nb, resources=None, **keywords):
        page, resources = super().from_notebook_node(short_notebook(nb), resources, **keywords)
        return _SCRIPT.sub("", page, count=1), resources
