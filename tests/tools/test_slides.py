"""Slides: what the rules leave of a notebook, and that a file of slides asks no other host and runs off no slide."""

import re
from pathlib import Path

import nbformat
import pytest
from machine import CHROMIUM, needs
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.grading.formulas import with_formulas
from tools.slides import __main__ as program
from tools.slides.rules import CODE_LINES, slides_of, stub

ROOT = Path(__file__).resolve().parents[2]
UNITS = program.build_notebooks.units(ROOT)
SOLVED = {"solution": True, "grade": False, "grade_id": "double", "locked": False, "schema_version": 3, "task": False}
EXERCISE = '''def helper(y):
    """Another one."""
    return y


def double(x: float, *, times: int = 2) -> float:
    """Twice x.

    Details.
    """
    ### BEGIN SOLUTION
    return times * x
    ### END SOLUTION
'''


def source_of(unit: str) -> Path:
    return program.build_notebooks.solved_of(ROOT, unit)


def shown(*cells) -> list[tuple[str, str]]:
    """(kind of slide, source) of the cells that the rules make of these."""
    return [
        (cell.metadata.slideshow.slide_type, cell.source) for cell in slides_of(new_notebook(cells=list(cells))).cells
    ]


def test_headings_begin_slides_and_long_prose_goes_to_the_notes():
    long = "One sentence here. A second one there. A third, which is left out."
    made = shown(new_markdown_cell(f"# Title\n\n{long}\n\n## Part\n\nShort.\n\n### Exercise\n\nDo it."))
    assert [kind for kind, _ in made] == ["slide", "-", "notes", "slide", "-", "subslide", "-"]
    assert made[1][1] == "One sentence here. A second one there." and made[2][1] == long


def test_what_does_not_fit_goes_on_below():
    made = shown(new_markdown_cell("## Part\n\n" + "\n\n".join(f"Sentence {k} of a text." for k in range(30))))
    again = [source for kind, source in made if kind == "subslide"]
    assert again and all(source == "## Part" for source in again)
    code = [new_code_cell(f"print({k})\n" * 9) for k in range(4)]
    again = [source for kind, source in shown(new_markdown_cell("## Part"), *code) if kind == "subslide"]
    assert again and all(source.startswith("## Part <span") for source in again)


def test_code_is_cut_and_says_so_and_setting_up_is_left_out():
    setting_up = new_code_cell("import os\nN = 3")
    started = new_code_cell("ranks.start(4)", outputs=[new_output("stream", text="4 ranks ready")])
    made = shown(setting_up, started, new_code_cell("\n".join(f"print({k})" for k in range(40))))
    assert len(made) == 1
    lines = made[0][1].splitlines()
    assert len(lines) == CODE_LINES and lines[-1] == f"# ... {40 - CODE_LINES + 1} more lines in the notebook"


def test_a_picture_comes_without_its_code():
    drawn = new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})
    (cell,) = slides_of(new_notebook(cells=[new_code_cell("plt.plot(x)", outputs=[drawn])])).cells
    assert cell.source == "" and list(cell.outputs[0].data) == ["image/png"]


DRAWN = new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})


def test_a_sentence_that_defines_a_term_stays_with_the_one_before_it():
    one, two, three = "Every rank does this first.", "Then it does that.", "At last it makes a step."
    made = shown(new_markdown_cell(f"## Part\n\n{one} {two} {three} That is **GPipe**. And so on."))
    assert made[1][1] == f"{one} {two} {three} That is **GPipe**."


def test_a_picture_is_on_one_slide_with_the_paragraph_before_it():
    text = "## Part\n\n" + "\n\n".join(f"Sentence {k} of a text." for k in range(6)) + "\n\nHere it is drawn:"
    printed = new_output("stream", text="33 slots")
    made = shown(new_markdown_cell(text), new_code_cell("draw(x)", outputs=[printed, DRAWN]))
    kinds = [kind for kind, _ in made]
    assert kinds.count("subslide") == 1
    assert made[kinds.index("subslide") + 1][1] == "Here it is drawn:" and made[-1][1] == ""


def test_answers_of_a_recap_are_in_the_notes():
    answers = new_output("display_data", data={"text/html": "<ol><li>b</li></ol>", "text/plain": "1. b"})
    recap = new_code_cell('from autograder import recap\n\nrecap("17", "b")', outputs=[answers])
    assert shown(new_markdown_cell("## Recap\n\n1. Which?"), recap)[2:] == [("notes", "1. b")]


def test_a_cell_can_be_left_off_and_a_cell_can_begin_a_slide():
    off = new_code_cell("print(1)", metadata={"tags": ["no-slide"]})
    begins = new_code_cell("print(2)", metadata={"tags": ["slide"]})
    made = shown(new_markdown_cell("## Part\n\nText."), off, begins)
    assert [kind for kind, _ in made] == ["slide", "-", "subslide", "-"] and made[-1][1] == "print(2)"


def test_an_exercise_is_its_signature_and_first_paragraph():
    assert stub(EXERCISE, "double") == 'def double(x: float, *, times: int=2) -> float:\n    """Twice x."""\n    ...'
    checked = new_code_cell("check(double)", metadata={"nbgrader": {**SOLVED, "solution": False, "grade": True}})
    made = shown(new_code_cell(EXERCISE, metadata={"nbgrader": SOLVED}), checked)
    assert len(made) == 1 and "times * x" not in made[0][1]


def test_sections_for_later_are_left_out_and_questions_stay_whole():
    made = shown(new_markdown_cell("## Deeper: more\n\nText.\n\n## Next\n\n- Which one? That is left open."))
    assert [source for _, source in made] == ["# Next", "- Which one? That is left open."]


def test_formulas_become_mathml_and_code_keeps_its_dollars():
    made = with_formulas("Price $\\alpha + n \\beta$, `$HOME` and\n\n$$S = \\frac{1}{p}$$\n")
    assert made.count("<math") == 2 and "`$HOME`" in made and "$$" not in made


@pytest.mark.parametrize("unit", UNITS)
def test_no_line_of_a_solution_is_on_a_slide(unit):
    notebook = nbformat.read(source_of(unit), as_version=4)
    slides = "\n".join(cell.source for cell in slides_of(notebook).cells)
    assert "BEGIN SOLUTION" not in slides and "For graders" not in slides
    given = "\n".join(
        re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", c.source, flags=re.S) for c in notebook.cells
    )
    for cell in notebook.cells:
        for block in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.S):
            lines = {line.strip() for line in block.splitlines() if len(line.strip()) > 25}
            assert not [line for line in lines if line in slides and line not in given]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("slides")
    assert program.main(["00", "--to", str(folder)]) == 0
    return folder / "00_start_here.html"


def test_a_file_of_slides_loads_nothing(page):
    html = page.read_text(encoding="utf-8")
    outside = re.sub(r"(<script>).*?</script>", r"\1", html, flags=re.S)
    addresses = re.findall(r"<(?:script|img|link|iframe)[^>]*?\s(?:src|href)=[\"']([^\"']*)", outside)
    assert addresses and all(address.startswith("data:") for address in addresses)
    assert not re.findall(r"(?:@import|url\()\s*[\"']?https?:", html)
    assert "Reveal.initialize" in html and html.count("<section") > 20


def test_a_unit_that_is_not_there_is_named(capsys):
    assert program.main(["99"]) == 1
    assert "no unit 99" in capsys.readouterr().err


@needs("browser")
def test_nothing_runs_off_a_slide(page):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        tab.wait_for_function("window.Reveal && Reveal.isReady()")
        for _ in range(tab.evaluate("Reveal.getTotalSlides()")):
            over = tab.evaluate(
                """() => Math.max(0, ...[...Reveal.getCurrentSlide().querySelectorAll("*")]
                .filter((e) => !e.closest("aside")).map((e) => e.getBoundingClientRect())
                .filter((b) => b.width && b.height).map((b) => Math.max(b.bottom - 720, b.right - 1280)))"""
            )
            assert over <= 1, tab.evaluate("Reveal.getCurrentSlide().innerText")
            tab.evaluate("Reveal.next()")
        browser.close()
    assert all(url.startswith(("file:", "data:")) for url in asked)
