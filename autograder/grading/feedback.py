"""The steps of ``nbgrader generate_feedback``, and its page, which asks no other host."""

from __future__ import annotations

import re

from nbconvert.exporters import HTMLExporter
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade

from autograder.grading.formulas import with_formulas

_SCRIPT = re.compile(
    r"(?:<!-- Loading mathjax macro -->\s*)?<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", re.DOTALL
)


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
    """nbgrader's page without its script for formulas, which comes from another host. The rest is in the file."""

    def from_notebook_node(self, nb, resources=None, **keywords):
        page, resources = super().from_notebook_node(nb, resources, **keywords)
        return _SCRIPT.sub("", page, count=1), resources
