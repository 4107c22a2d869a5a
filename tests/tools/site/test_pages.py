"""A notebook as a page: what is folded, what is left out, where links lead; what figures are called; the audit."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.build_notebooks import solved_of, units
from tools.site import exercises
from tools.site.audit import audit
from tools.site.figures import alternatives
from tools.site.units import ANSWERS, SHOW, Links, page_of

ROOT = Path(__file__).resolve().parents[3]
GRADED = {"nbgrader": {"grade_id": "double", "solution": True, "grade": False}}
SOLVED = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
STUB = "def double(x):\n    # Your code here\n    raise NotImplementedError"
RUBRIC = "### BEGIN SOLUTION\n- 1 point: the reason.\n### END SOLUTION"
HIDDEN = "check(double)\n### BEGIN HIDDEN TESTS\nassert double(2) == 4\n### END HIDDEN TESTS"
PICTURE = {"image/png": "iVBORw0KGgo="}


def lesson(solved: bool):
    """A text, an exercise, its check with hidden tests, a written question; for instructors or for students."""
    text = new_output("stream", text="passed")
    cells = [
        new_markdown_cell("# Title\n\nSee [unit 00](../00_start/start.ipynb) and [the tree](../../labkit/x.py)."),
        new_code_cell(SOLVED if solved else STUB, metadata=GRADED),
        new_code_cell(HIDDEN, outputs=[text] if solved else []),
        new_markdown_cell(RUBRIC if solved else "YOUR ANSWER HERE"),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return new_notebook(cells=cells)


def page(tmp_path, **options):
    links = Links(
        tmp_path, "notebooks/01_x", "units/01_x.ipynb", {"notebooks/00_start/start.ipynb": "units/00_s.ipynb"}
    )
    return page_of(lesson(True), lesson(False), where=links, **{"solutions": True, "outputs": True, **options})


def test_a_solution_is_folded_below_its_stub(tmp_path):
    cells = page(tmp_path).notebook.cells
    assert [cell.source for cell in cells[1:3]] == ["(exercise-double)=", STUB]
    folded = cells[3]
    assert folded.source == "def double(x):\n    return 2 * x"
    assert "hide-input" in folded.metadata.tags
    assert folded.metadata.mystnb == {"code_prompt_show": SHOW, "code_prompt_hide": "Hide a solution"}
    assert cells[4].source == "check(double)" and cells[4].outputs[0].text == "passed"


def test_a_rubric_is_folded(tmp_path):
    texts = [cell.source for cell in page(tmp_path).notebook.cells if cell.cell_type == "markdown"]
    assert texts[-4:] == [
        "YOUR ANSWER HERE",
        f"<details class='solution'><summary>{SHOW}</summary>\n",
        "- 1 point: the reason.\n",
        "</details>",
    ]


def test_without_solutions_nothing_of_them_is_on_the_page(tmp_path):
    text = nbformat.writes(page(tmp_path, solutions=False).notebook)
    assert "2 * x" not in text and "the reason" not in text and "hide-input" not in text and STUB[:14] in text
    assert "passed" in text and "passed" not in nbformat.writes(page(tmp_path, outputs=False).notebook)


@pytest.mark.parametrize("solutions", [True, False])
def test_hidden_tests_and_markers_are_on_no_page(tmp_path, solutions):
    text = nbformat.writes(page(tmp_path, solutions=solutions).notebook)
    assert "HIDDEN TESTS" not in text and "double(2) == 4" not in text and "SOLUTION" not in text


def test_what_is_for_lab_alone_is_on_no_page_and_answers_are_folded(tmp_path):
    solved, released = lesson(True), lesson(False)
    for notebook in (solved, released):
        notebook.cells[0].id, notebook.cells[2].id = "course-next", ANSWERS
    links = Links(tmp_path, "notebooks/01_x", "units/01_x.ipynb", {})
    cells = page_of(solved, released, True, True, links).notebook.cells
    assert not any("Title" in cell.source for cell in cells)
    (answers,) = [cell for cell in cells if "hide-cell" in cell.metadata.get("tags", [])]
    assert answers.outputs[0].text == "passed" and answers.metadata.mystnb.code_prompt_show == "Show the answers"


def exercise_cells(heading: str):
    """Text, exercise, check, and a question to answer in words."""
    marks = {"grade_id": "double", "solution": True, "grade": False}
    check = {"grade_id": "check_double", "solution": False, "grade": True, "points": 2}
    cells = [
        new_markdown_cell(f"## Twice\n\nBefore.\n\n{heading}\n\nBehind."),
        new_code_cell(STUB, metadata={"nbgrader": marks}),
        new_code_cell("check(double)", metadata={"nbgrader": check}),
        new_markdown_cell("## Why (1 point)\n\nSay why."),
        new_markdown_cell("YOUR ANSWER HERE", metadata={"nbgrader": {"solution": True, "grade": True, "points": 1}}),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return new_notebook(cells=cells)


def test_an_exercise_is_in_a_box_with_points_and_stretch(tmp_path):
    made = exercise_cells("### Double (2 points) · stretch")
    cells = page_of(made, made, True, True, Links(tmp_path, "notebooks/01_x", "units/01_x.ipynb", {})).notebook.cells
    texts = [cell.source for cell in cells]
    assert texts[0] == "## Twice\n\nBefore.\n\n### Double" and texts[2] == "Behind."
    assert 'aria-label="Exercise double"' in texts[1] and "2 points" in texts[1] and "badge-stretch" in texts[1]
    assert texts[3:7] == ["(exercise-double)=", STUB, "check(double)", "</div>"]
    assert texts[7] == "## Why" and "1 point<" in texts[8] and "badge-stretch" not in texts[8]
    assert "YOUR ANSWER HERE" not in texts[10] and texts[-1] == "</div>"


@pytest.mark.parametrize("unit", units(ROOT))
def test_every_exercise_of_a_unit_is_in_a_box_of_its_own(unit):
    cells = nbformat.read(solved_of(ROOT, unit), as_version=4).cells
    edges = [edge for _, edge in sorted(exercises.boxes(cells).items())]
    graded = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [bool(edge.opens) for edge in edges] == [True, False] * len(graded)


def test_long_code_that_only_defines_is_folded_with_its_names(tmp_path):
    long = "def given(x):\n" + "    x += 1\n" * 20 + "    return x"
    assert exercises.given(long, 12) == "given" and not exercises.given(long + "\ngiven(1)", 12)
    assert not exercises.given("def given(x):\n    return x", 12) and exercises.given(f"%%ranks\n{long}", 12) == "given"
    made = new_notebook(cells=[new_code_cell(long)])
    (cell,) = page_of(made, made, True, True, Links(tmp_path, "x", "units/x.ipynb", {})).notebook.cells
    assert cell.metadata.mystnb.code_prompt_show == "Show what is given: given" and "hide-input" in cell.metadata.tags


def test_links_lead_to_pages_or_are_words(tmp_path):
    assert page(tmp_path).notebook.cells[0].source.endswith("See [unit 00](00_s.ipynb) and the tree.")
    (tmp_path / "notebooks/01_x").mkdir(parents=True)
    (tmp_path / "notebooks/01_x/train.py").touch()
    links = Links(tmp_path, "notebooks/01_x", "units/01_x.ipynb", {})
    assert links.rewritten("[a](train.py) `[b](c)` [d](https://e.f)") == (
        "[a](../programs/train.md) `[b](c)` [d](https://e.f)"
    )
    assert links.rewritten("![p](../../images/a.svg)") == "![p](../images/a.svg)"
    assert links.files == ["notebooks/01_x/train.py"]


def test_notebooks_that_do_not_belong_together_are_refused(tmp_path):
    other = lesson(False)
    del other.cells[1]
    with pytest.raises(ValueError, match="make notebooks"):
        page_of(lesson(True), other, True, True, Links(tmp_path, "notebooks/01_x", "units/01_x.ipynb", {}))


# ------------------------------------------------------------------------------------------------------------- figures


def figure(source: str, *, before="", after="", **metadata) -> list[str]:
    cell = new_code_cell(source, outputs=[new_output("display_data", PICTURE)], metadata=metadata)
    return alternatives(new_notebook(cells=[new_markdown_cell(before), cell, new_markdown_cell(after)]))


def test_a_figure_is_told_by_its_title_its_axes_and_the_text():
    source = 'ax.set(title="All-reduce on 4 ranks", xlabel="bytes")\nax.set_ylabel("time, ms")'
    (text,) = figure(source, before="## What it costs\n\nRun it.", after="Small messages pay latency. More.")
    assert text == (
        "What it costs: Title: All-reduce on 4 ranks. Axes: bytes, time, ms. Small messages pay latency. More."
    )


def test_a_figure_is_told_by_what_draws_it():
    helper = 'def draw_it(f):\n    """One lane for each rank. More."""\n    plt.plot()\n\n\ndef mine():\n    pass\n\n\n'
    (text,) = figure(f"{helper}draw_it(mine)", before="# Lanes")
    assert text == "Lanes: One lane for each rank. Drawn for mine."


def test_a_cell_may_say_what_its_figures_show():
    assert figure("plot()", alt="Two curves that cross.") == ["Two curves that cross."]
    assert figure("plot()", alt=["Two curves that cross."]) == ["Two curves that cross."]


@pytest.mark.parametrize("unit", units(ROOT))
def test_every_figure_of_a_unit_says_something_of_its_own(unit):
    texts = alternatives(nbformat.read(solved_of(ROOT, unit), as_version=4))
    assert all(len(text.split()) >= 8 for text in texts)
    assert len(set(texts)) == len(texts)


# --------------------------------------------------------------------------------------------------------------- audit


def found(folder: Path, body: str, **others: str) -> str:
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>")
    for name, text in others.items():
        (folder / name.replace("_", ".")).write_text(text)
    return "\n".join(audit(folder).troubles)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="nowhere.html">x</a>', "nowhere.html leads nowhere"),
        ('<a href="#nowhere">x</a>', "leads to no such place"),
        ('<a href="other.html#here">x</a>', "leads to no such place"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<img src="//host.example/a.png" alt="a curve over ranks">', "loads //host.example/a.png"),
        ('<link rel="stylesheet" href="https://fonts.example/f.css">', "loads https://fonts.example/f.css"),
        ('<img src="other.html" alt="">', "no alternative text"),
        ('<img src="other.html" alt="../_images/x.png">', "no alternative text"),
    ],
)
def test_the_audit_sees_what_is_broken(tmp_path, body, said):
    assert said in found(tmp_path, body, other_html="<p id='there'></p>")


def test_the_audit_sees_what_a_style_sheet_loads(tmp_path):
    said = found(
        tmp_path, "", a_css="@font-face{src:url(https://fonts.example/f.woff2)} @import '//host.example/b.css'"
    )
    assert "loads https://fonts.example/f.woff2" in said and "loads //host.example/b.css" in said


def test_the_audit_lets_a_whole_page_pass(tmp_path):
    body = (
        '<a href="other.html#there">x</a> <a href="https://paper.example">y</a> <a id="z" href="#z">z</a>'
        '<img src="data:image/png;base64,AA" alt="speedup over ranks">'
    )
    assert not found(tmp_path, body, other_html="<p id='there'></p>")
