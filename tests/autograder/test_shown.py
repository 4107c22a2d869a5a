"""What is left of a student's text before a lexer or a page has it: bounded, whatever it holds; and all of it that an
honest answer holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pygments.lexer import RegexLexer

from autograder.grading.feedback import FeedbackExporter, short_notebook
from autograder.reports import copies
from autograder.shown import BLANKS, EMPTY_LINES, MOST_READ, MOST_SHOWN, cut, pieces, shown, squeezed

ROOT = Path(__file__).resolve().parents[2]
SLOW = {
    "blanks and line ends": "' \n" * 30_000 + "x = 1",
    "blanks": "'case'" + " " * 99_900 + "x",
    "blanks alone": " " * 100_000,
    "line ends": "x" + "\n" * 99_000 + "y",
    "tabs": "x\t \t" * 25_000 + "y",
    "wide blanks": "x" + "\u3000" * 99_000 + "y",
    "form feeds": "x" + "\x0c" * 99_000 + "y",
    "lines of blanks": "x\n" + (" " * 90 + "\n") * 1000 + "y",
    "full stops": "." * 100_000,
    "an open string": "'''" + "x " * 49_000,
}


@pytest.fixture
def lexed(monkeypatch):
    """The texts that Pygments is given."""
    seen = []
    real = RegexLexer.get_tokens_unprocessed

    def noted(self, text, *rest):
        seen.append((type(self).__name__, text))
        return real(self, text, *rest)

    monkeypatch.setattr(RegexLexer, "get_tokens_unprocessed", noted)
    return seen


def is_squeezed(text: str) -> bool:
    return "\n" * (EMPTY_LINES + 2) not in text and not any(
        len(run) > BLANKS for line in text.split("\n") for run in spaces(line)
    )


def spaces(line: str) -> list[str]:
    return "".join(" " if letter.isspace() else "x" for letter in line).replace("x", " x ").split(" x ")


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.timeout(60)
def test_a_lexer_of_the_feedback_is_given_little(name, lexed):
    text = SLOW[name]
    cells = [new_code_cell(text), new_code_cell(f"%%perl\n{text}"), new_markdown_cell(f"```perl\n{text}\n```")]
    page, _ = FeedbackExporter().from_notebook_node(new_notebook(cells=cells))
    assert lexed and {lexer for lexer, _ in lexed} <= {"Python3Lexer", "PythonLexer"}
    assert all(len(given) <= MOST_SHOWN + 100 and is_squeezed(given) for _, given in lexed)
    assert len(page) < 2_000_000


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.timeout(60)
def test_a_lexer_of_copies_and_report_is_given_little(name, lexed):
    text = SLOW[name]
    code = "\ndef f(x):\n    return torch.add(x, 1)\n"
    answers = {who: {"c": text + code} for who in ("ada", "bob")}
    copies.code_tokens.cache_clear()
    copies.same_notebooks(answers, {}, {}, enough=1)
    copies.similar_pairs(answers, {}, enough=1)
    assert lexed and all(len(given) <= MOST_READ and is_squeezed(given) for _, given in lexed)


def test_a_cell_that_is_cut_says_so():
    (cell,) = short_notebook(new_notebook(cells=[new_code_cell("x = 1\n" * 5000)])).cells
    assert cell.source.endswith("\n# [20,000 more characters are not shown]")
    (cell,) = short_notebook(new_notebook(cells=[new_markdown_cell("so " * 5000)])).cells
    assert cell.source.endswith("\n\n[5,000 more characters are not shown]")
    assert cut("abc", 3) == "abc" and cut("abcd", 3) == "abc\n[1 more characters are not shown]"


def test_outputs_are_cut_and_cards_are_not():
    card = new_output("display_data", {"text/html": "<b>" + "x" * 50_000, "text/plain": "a card"})
    many = [new_output("stream", text="y" * 9000) for _ in range(60)]
    trouble = new_output("error", ename="E", evalue="e", traceback=["z" * 20_000] * 50)
    (cell,) = short_notebook(new_notebook(cells=[new_code_cell("", outputs=[card, trouble, *many])])).cells
    assert cell.outputs[0] == card
    assert sum(len(json.dumps(output)) for output in cell.outputs[1:]) < 2 * MOST_SHOWN + 10_000


def test_what_honest_people_write_stays_as_it_is():
    for path in sorted(ROOT.glob("solutions/*/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            assert shown(text) == text, path.name
    text = "if x:\n\n\n" + " " * 60 + "y = 'a" + " " * 70 + "b'\n\n"
    assert squeezed(text) == text and squeezed("") == ""


@pytest.mark.parametrize("text", [*SLOW.values(), "a\n\nb", "\n", "a", "  a  \n  "], ids=lambda text: repr(text[:9]))
def test_every_piece_stands_where_it_says(text):
    assert all(text[at : at + len(piece)] == piece for at, piece in pieces(text))


def test_tokens_around_a_run_of_blanks_stand_where_they_say():
    text = "x = g(1," + " " * 300 + "2)" + "\n" * 50 + "y = 'a" + " " * 200 + "b' + z"
    tokens = copies.code_tokens(text)
    assert [token.text for token in tokens] == "name = g ( 1 , 2 ) name = string + name".split()
    there = [text[token.start : token.end] for token in tokens]
    assert there == [*"x = g ( 1 , 2 ) y =".split(), "'a" + " " * 200 + "b'", "+", "z"]


def test_a_page_of_many_full_cells_is_cut_but_for_those_that_count():
    count = {"nbgrader": {"grade_id": "f", "solution": True}}
    many = [new_code_cell("x = 1\n" * 1500) for _ in range(100)]
    marked = new_code_cell("y = 1\n" * 1500, metadata=count)
    cells = short_notebook(new_notebook(cells=[*many, marked])).cells
    assert cells[-1].source == "y = 1\n" * 1500
    assert sum(len(cell.source) for cell in cells[:-1]) < 240_000
    assert all(cell.source.startswith("x = 1\n" * 30) for cell in cells[:-1])
    (cell,) = short_notebook(new_notebook(cells=[new_markdown_cell("a" + "`" * 9000 + "b\n\n---\n")])).cells
    assert cell.source == "a" + "`" * 100 + "b\n\n---\n"


@pytest.mark.parametrize(
    "fence", ["```perl", "~~~ perl `x`", "> ```\u00a0perl", "- ```{perl}", "1. ````perl x", "```Perl"]
)
def test_a_student_chooses_no_lexer_of_a_page(fence, lexed):
    lines = [fence, "x = 1", fence.split("perl")[0].lstrip("-1.> ").strip(" \u00a0{")]
    cells = [new_markdown_cell("\n".join(lines)), new_markdown_cell(f"text\n\n{fence}\nx = 1")]
    FeedbackExporter().from_notebook_node(new_notebook(cells=cells))
    assert {lexer for lexer, _ in lexed} <= {"Python3Lexer", "PythonLexer", "BashLexer", "TextLexer"}


@pytest.mark.parametrize(
    "text", ["so ```a b``` is", "```a b```", "```python\nx\n```", "```\nx\n```", "a ~~~b", "```bash\nls\n```"]
)
def test_other_markdown_stays(text):
    (cell,) = short_notebook(new_notebook(cells=[new_markdown_cell(text)])).cells
    assert cell.source == text
