"""The notebook that formgrader and feedback show: a card under each check, an overview at the top."""

from __future__ import annotations

import json
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode, from_dict

from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.grading.submission.harmless import harmless_markdown
from autograder.grading.submission.rebuilding import Rebuilt, id_of
from autograder.homework import handed_in
from autograder.judging import cards
from autograder.verdict import HINT_LEVELS, Result

# -- the notebook that formgrader and feedback show -------------------------------------------------------------------


def carded(rebuilt: Rebuilt, graded: Graded, hints: str | None = None) -> NotebookNode:
    """The rebuilt notebook with a card and the points in every cell that earns some; on top a list of them, and what
    was noticed."""
    notebook = from_dict(json.loads(json.dumps(rebuilt.notebook)))
    grades = {grade.grade_id: grade for grade in graded.items}
    for cell in notebook.cells:
        grade = grades.get(id_of(cell))
        if grade is not None and cell.cell_type == "code":
            cell.outputs = _outputs(grade, hints or graded.hints, cell.execution_count)
    notebook.cells.insert(
        0, NotebookNode(cell_type="markdown", id="overview", metadata=NotebookNode(), source=_overview(graded))
    )
    return notebook


def _overview(graded: Graded) -> str:
    """The cell above the notebook: a line for each graded cell, with a link to it (the formgrader's page is very
    long)."""
    lines = [f"**Checked automatically: {graded.points:g} of {graded.max_points:g} points**", ""]
    for item in graded.items:
        name = _one_line(harmless_markdown(item.grade_id.replace("check_", "", 1)))
        verdict = "waits for a person" if item.fault or item.waits else item.verdict.replace("_", " ")
        earned = f"{item.points + item.extra:g} of {item.max_points:g}"
        follows = f", follows from {harmless_markdown(item.follows)}" if item.follows else ""
        lines.append(f"- [{name}](#{quote(item.grade_id)}): {earned}, {verdict}{follows}")
    noticed = [flag.sentence for flag in graded.flags]
    if noticed:
        lines += ["", "**Noticed by the grader**", ""]
        lines += [f"- {harmless_markdown(_one_line(sentence))}" for sentence in noticed]
    return "\n".join(lines)


def written(notebook: NotebookNode) -> str:
    """The text of its file, as nbgrader writes it. Raises nbformat.ValidationError for what is no valid notebook."""
    nbformat.validate(notebook, relax_add_props=True)
    return nbformat.v4.writes(notebook) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _outputs(grade: ItemGrade, hints: str, number: int | None) -> list[NotebookNode]:
    """A card, the picture of the decisive case, and the points as nbgrader reads them: a number that a cell returns.

    nbgrader gives full points to a cell without such a number, so there is always one.
    """
    html, text = card(grade, hints)
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": html, "text/plain": text}}]
    if grade.figure and HINT_LEVELS[hints] >= 1:
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": grade.figure}})
    points = {"text/plain": repr(float(grade.points))}
    outputs.append({"output_type": "execute_result", "metadata": {}, "execution_count": number, "data": points})
    return [from_dict(output) for output in outputs]


def card(grade: ItemGrade, hints: str = "how") -> tuple[str, str]:
    """(HTML, text) of the card."""
    if grade.homework is not None:
        return handed_in.card(grade.homework, hints)
    if grade.result is not None:
        result = Result.from_json(grade.result)
        return cards.html_card(result, hints), cards.text_card(result, hints)
    said = grade.said if HINT_LEVELS[hints] >= 1 or grade.verdict == "missing" else []
    return cards.plain_card(grade.grade_id, grade.points, grade.max_points, grade.verdict, said)
