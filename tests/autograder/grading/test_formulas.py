"""Formulas in a student's text become MathML, and nothing that a page would run, follow or never finish."""

import re

import mistune
import pytest

from autograder.grading.formulas import LONGEST, with_formulas

TAG = re.compile(r"<\s*/?\s*([a-zA-Z!?][^\s>/]*)")
MATHML = {
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "msub",
    "msup",
    "msubsup",
    "mfrac",
    "mtable",
    "mtr",
    "mtd",
}


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<\boxed!--><\boxedscript>document.title='mine'<\boxed/script>--\boxed>}",
        r"\text{<\boxed{}script>document.title='mine'<\boxed{}/script>}",
        r"\text{[see the proof]\boxed(javascript:alert(1))}",
        r"\text{[see the proof](javascript:alert(1))}",
        r"\text{!\boxed[x](https://host.example/p.png)}",
        r"\text{<\dots script>}",
        r"\text{&lt;script&gt;alert(1)&lt;/script&gt;}",
        r"\text{https://host.example/}",
        r"\text{**bold** _and_ ~~more~~}",
    ],
)
def test_no_text_becomes_a_tag_a_link_or_a_picture(tex):
    made = with_formulas(f"so ${tex}$ is")
    page = mistune.html(made)
    if "<math" in made:
        assert {name.lower() for name in TAG.findall(page)} <= MATHML | {"p"}
    else:
        assert re.fullmatch(r"<p>so <code>[^<]*</code> is</p>\s*", page)
    assert "href" not in page and "src" not in page


@pytest.mark.parametrize(
    "tex",
    [
        r"\def\qa{x}\def\qb{{\qa}{\qa}{\qa}{\qa}}\def\qc{{\qb}{\qb}{\qb}{\qb}}\qc",
        r"\de\boxed f\qa{x}\qa",
        r"\newcommand{\qa}{x}\qa",
        "x" * (LONGEST + 1),
    ],
)
def test_no_macro_multiplies_itself(tex):
    assert with_formulas(f"so ${tex}$ is").count("<m") < 20


def test_what_is_right_stays_right():
    made = with_formulas(r"so $\boxed{x_1^2} + \frac{a}{b} < \dots$ and $$\text{ if } p\_1$$")
    assert made.count("<math") == 2 and "<mfrac>" in made and "&#60;" in made and "&#8230;" in made
    assert ">\N{NO-BREAK SPACE}if\N{NO-BREAK SPACE}<" in made
