"""The minutes that the pages name are those that are counted on them, and the core of no unit is too long."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import lesson_time

PAGES = lesson_time.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_says_how_long_it_takes(page):
    core, stretch = lesson_time.totals(page)
    assert all(minutes <= lesson_time.SITTING for minutes in lesson_time.sittings(page)), (
        "mark more of it as stretch, or cut it by a section Half-time: python tools/lesson_time.py " + page.parent.name
    )
    said = lesson_time.said(page)
    assert said is not None, "its first cell should say: **It takes** about N minutes, the *stretch* M more."
    counted = (lesson_time.in_steps(core), lesson_time.in_steps(stretch))
    assert max(abs(a - b) for a, b in zip(said, counted, strict=True)) <= lesson_time.STEP, f"counted: {counted}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_stretch_begins_with_its_cell(page):
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "markdown":
            headings = [words for _, words in re.findall(r"^(##+) (.*)$", cell.source, re.MULTILINE)]
            marked = [bool(lesson_time.STRETCH.search(words)) and words != "To read" for words in headings]
            late = [words for words, is_marked in zip(headings, marked, strict=True) if is_marked and not marked[0]]
            assert not late, f"a cell of its own for {late}: the minutes before it are the core's"


def test_what_is_counted(tmp_path):
    """150 words are a minute; code counts twice; a line of a solution is a minute, its check two; on ranks twice."""
    exercise = (
        'def double(x):\n    """'
        + "word " * 150
        + '"""\n    ### BEGIN SOLUTION\n    # why\n\n    y = 2 * x\n    return y\n    ### END SOLUTION'
    )
    cells = [
        new_markdown_cell("# One\n" + "word " * 149),
        new_markdown_cell("## Two · stretch\n" + "word " * 298),
        new_code_cell("a = 1  # " + "word " * 148),
        new_markdown_cell("### Below\n" + "word " * 149),
        new_markdown_cell("## Three\n```bash\n# no heading\n```\n"),
        new_code_cell(exercise),
        new_markdown_cell("## Half-time\n"),
        new_code_cell("def right_neighbour(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"),
    ]
    page = tmp_path / "page.ipynb"
    nbformat.write(new_notebook(cells=cells), page)
    found = {section.heading: section for section in lesson_time.sections(page)}
    assert [(name, section.stretch) for name, section in found.items()] == [
        ("One", False),
        ("Two · stretch", True),
        ("Below", True),
        ("Three", False),
        ("Half-time", False),
    ]
    assert found["One"].minutes == 1
    assert found["Two · stretch"].minutes == pytest.approx(2 + (148 + 2 * 2) / 150)
    assert found["Three"].minutes == pytest.approx(
        1 + 2 + 2 + (2 * 3 + 4) / 150
    )  # def double(x) twice; Three, bash, a heading
    assert found["Half-time"].minutes == pytest.approx(2 * (1 + 2) + (2 * 3 + 1) / 150)
    core = found["One"].minutes + found["Three"].minutes
    assert lesson_time.sittings(page) == pytest.approx([core, found["Half-time"].minutes])


@pytest.mark.parametrize(
    ("source", "prose", "code"),
    [
        ('print(f"{a.b:.2f} of {n + 1}")', 0, 7),
        ('f"""One\n{two}\n  {three!r:>{four}} five"""\nx = f\'{f"{y}"} z\'', 7, 5),
        ("f\"it's {a[0]}\" 'and more'", 4, 2),
        ("%%ranks 4 --deadline 5s\nx = 1  # two words", 2, 6),
        ('!cat $HOME/it\'s\n"""Prose."""', 1, 3),
        ("%%bash\nfor f in *; do echo ${f%.py}; done", 0, 9),
    ],
)
def test_words_of_code_are_the_same_on_every_python(source, prose, code):
    """From 3.12 on, tokenize takes f-strings to pieces and refuses what is no Python earlier."""
    assert lesson_time._words_of_code(source) == (prose, code)


def test_a_unit_that_is_not_there(capsys):
    assert lesson_time.main(["77"]) == 1
    assert "No unit begins with '77'" in capsys.readouterr().err
