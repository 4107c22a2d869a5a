"""Slides: what the rules leave of a notebook, and that a file of slides asks no other host and runs off no slide."""

import re
from pathlib import Path

import nbformat
import pytest
from machine import needs
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from served import chromium

from autograder.grading.formulas import with_formulas
from tools.slides import __main__ as program
from tools.slides.rules import CODE_LINES, ENOUGH, MOST, is_picture, slides_of

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
    made = shown(new_markdown_cell(f"# Title\n\n{long}\n\n## Part\n\nShort.\n\n### More\n\nText."))
    assert [kind for kind, _ in made] == ["slide", "-", "notes", "slide", "-", "notes", "subslide", "-", "notes"]
    assert made[1][1] == "One sentence here. A second one there." and made[2][1] == long


def test_what_does_not_fit_goes_to_the_notes_and_terms_to_another_slide():
    plain = "\n\n".join(f"Sentence {k} of a text." for k in range(30))
    made = shown(new_markdown_cell(f"## Part\n\n{plain}"))
    assert [kind for kind, _ in made].count("subslide") == 0 and made[-1] == ("notes", "Sentence 29 of a text.")
    made = shown(new_markdown_cell(f"## Part\n\n{plain}\n\nThat is **GPipe**."))
    assert made[-2:] == [("subslide", "## Part"), ("-", "That is **GPipe**.")]
    assert not any("continued" in source for _, source in made)


def said(number: int) -> dict:
    return {"outputs": [new_output("stream", text=f"{number}\n")]}


def test_code_is_cut_and_says_so_and_setting_up_is_left_out():
    setting_up = new_code_cell("import os\nN = 3")
    started = new_code_cell("ranks.start(4)", outputs=[new_output("stream", text="4 ranks ready")])
    long = new_code_cell("\n".join(f"print({k})" for k in range(40)), **said(1))
    made = shown(new_markdown_cell("## Part"), setting_up, started, long)
    assert len(made) == 2
    lines = made[1][1].splitlines()
    assert len(lines) == CODE_LINES and lines[-1] == f"# ... {40 - CODE_LINES + 1} more lines in the notebook"


DRAWN = new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})


def test_a_picture_comes_without_its_code_and_never_alone():
    drawn = new_code_cell("plt.plot(x)", outputs=[DRAWN], metadata={"alt": "Two curves that cross. They are blue."})
    _, words, cell = slides_of(new_notebook(cells=[new_markdown_cell("## Part"), drawn])).cells
    assert words.source == "Two curves that cross."
    assert cell.source == "" and list(cell.outputs[0].data) == ["image/png"]
    again = new_code_cell("plt.plot(y)", outputs=[DRAWN])
    made = shown(new_markdown_cell("## Part\n\nText."), drawn, again, new_markdown_cell("Both are right."))
    assert [source for _, source in made if source] == [
        *("## Part", "Text.", "Text.", "## Part", "Both are right.", "Both are right.")
    ]


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


def test_an_announcement_of_what_is_not_shown_goes_to_the_notes():
    made = shown(new_markdown_cell("## Part\n\nText.\n\nRun it:"), new_code_cell("run()"))
    assert made == [("slide", "## Part"), ("-", "Text."), ("notes", "Text."), ("notes", "Run it:")]


def test_a_recap_and_what_can_wait_are_left_out():
    recap = new_code_cell('from autograder import recap\n\nrecap("17", "b")', outputs=[new_output("stream", text="b")])
    later = new_markdown_cell("## More · stretch\n\nText.\n\n### Below\n\nText.")
    made = shown(new_markdown_cell("## Recap\n\n1. Which?"), recap, later, new_markdown_cell("## Next\n\nHere."))
    assert [source for _, source in made] == ["## Next", "Here.", "Here."]


def test_a_cell_can_be_left_off_and_a_cell_can_begin_a_slide():
    off = new_code_cell("print(1)", metadata={"tags": ["no-slide"]}, **said(1))
    begins = new_code_cell("print(2)", metadata={"tags": ["slide"]})
    made = shown(new_markdown_cell("## Part\n\nText."), off, begins)
    assert [kind for kind, _ in made] == ["slide", "-", "notes", "subslide", "-"] and made[-1][1] == "print(2)"


def test_an_exercise_is_left_out_with_its_text_and_what_follows_its_check_stays():
    text = new_markdown_cell("## Part\n\nBefore.\n\n### Twice (2 points)\n\nReturn twice x.")
    solved = new_code_cell(EXERCISE, metadata={"nbgrader": SOLVED})
    checked = new_code_cell("check(double)", metadata={"nbgrader": {**SOLVED, "solution": False, "grade": True}})
    made = shown(text, solved, checked, new_markdown_cell("Behind."))
    assert [source for kind, source in made if kind != "notes"] == ["## Part", "Before.", "Behind."]
    asked = new_markdown_cell(text.source, metadata={"tags": ["slide"]})
    assert ("-", "Return twice x.") in shown(asked, solved, checked)


def test_a_unit_with_too_much_loses_what_is_missed_least():
    parts = [new_markdown_cell(f"## Part {k}\n\nText.\n\n- One.\n- Two? " + "Long. " * 250) for k in range(15)]
    made = shown(*parts, new_markdown_cell("## Last\n\n" + "Word. **Term** is this. " * 60 + "\n\n**Other** is that."))
    assert sum(kind in ("slide", "subslide") for kind, _ in made) == ENOUGH
    assert any("**Other**" in source for kind, source in made if kind == "-")


def test_formulas_become_mathml_and_code_keeps_its_dollars():
    made = with_formulas("Price $\\alpha + n \\beta$, `$HOME` and\n\n$$S = \\frac{1}{p}$$\n")
    assert made.count("<math") == 2 and "`$HOME`" in made and "$$" not in made


def slides(unit: str) -> list[list]:
    """The cells of each slide of a unit, without notes."""
    found: list[list] = []
    for cell in slides_of(nbformat.read(source_of(unit), as_version=4)).cells:
        if cell.metadata.slideshow.slide_type in ("slide", "subslide"):
            found.append([])
        if cell.metadata.slideshow.slide_type != "notes":
            found[-1].append(cell)
    return found


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_has_slides_for_a_session_and_no_picture_without_words(unit):
    made = slides(unit)
    assert 14 <= len(made) <= MOST
    for heading, *below in made:
        pictures = [c for c in below if c.source.startswith("![") or any(map(is_picture, c.get("outputs", [])))]
        assert below and len(pictures) <= 1 and len(below) > len(pictures), heading.source


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
    assert "Reveal.initialize" in html and html.count("<section") > 10


def test_a_unit_that_is_not_there_is_named(capsys):
    assert program.main(["99"]) == 1
    assert "no unit 99" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@needs("browser")
@pytest.mark.parametrize("unit", UNITS)
def test_nothing_runs_off_a_slide_and_none_is_drawn_smaller(unit, browser, tmp_path):
    assert program.main([unit, "--to", str(tmp_path)]) == 0
    tab, asked = browser.new_page(viewport={"width": 1280, "height": 720}), []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / f"{unit}.html").as_uri())
    tab.wait_for_function("window.Reveal && Reveal.isReady()")
    seen = set()
    for number in range(tab.evaluate("Reveal.getTotalSlides()")):
        over, zoom, told = tab.evaluate(
            """(number) => {
            const { h, v } = Reveal.getIndices(Reveal.getSlides()[number]);
            Reveal.slide(h, v);
            const slide = Reveal.getCurrentSlide();
            const boxes = [...slide.querySelectorAll("*")].filter((e) => !e.closest("aside"))
                .map((e) => e.getBoundingClientRect()).filter((b) => b.width && b.height);
            const over = Math.max(0, ...boxes.map((b) => Math.max(b.bottom - 720, b.right - 1280)));
            return [over, Number(slide.style.zoom || 1), `${h}/${v}: ${slide.innerText}`];
            }""",
            number,
        )
        assert over <= 1 and zoom > 0.99, told
        seen.add(told)
    assert len(seen) == len(slides(unit)) and all(url.startswith(("file:", "data:")) for url in asked)
    tab.close()
