"""Samples of the course for the first page: a card, as a check draws it for an answer of the bank, and the report of a
hang, as an executed notebook has it. `[samples]` in course.toml names both.
"""

from __future__ import annotations

import re

import nbformat

from autograder import answers, content
from autograder.browser.inside import RunnersInside
from autograder.judging.cards import html_card
from autograder.judging.judge import chunks_of_file, judge_with
from autograder.registry import find
from tools.build_notebooks import solved_of

NUMBERS = {"1": "Two", "2": "Three", "3": "Four"}  # by the last rank
HANGS = "did not come to an end"


def page(course: content.Content, titles: dict[str, str]) -> str:
    """A section of the first page, as markdown; "" for a course without samples. titles: of the units that the site
    has."""
    name, hangs = course.samples.get("answer", ""), course.samples.get("hang", "")
    shown = []
    if name.partition("/")[0] in titles and course.root == content.root():
        shown += [_answer(*name.split("/"))]
    if hangs in titles:
        shown += [_hang(course, hangs)]
    return "\n\n".join(["## How the course talks to you", *shown]) if shown else ""


def _answer(unit: str, function: str, entry: str) -> str:
    """An answer and its card. Its cases are those of the public key."""
    source = re.sub(r"\A(#.*\n)+", "", answers.sources(unit, function)[entry]).strip()
    exercise = find(function)
    result = judge_with(RunnersInside(), exercise, chunks_of_file(source, function, "your answer"))
    return f"""A wrong answer is named, on the smallest case that shows it. This is a first try at
[{exercise.title}](units/{unit}.ipynb#exercise-{function.replace("_", "-")}), and the card below it:

```python
{source}
```

{_as_output(html_card(result))}"""


def _hang(course: content.Content, unit: str) -> str:
    """The first report of a hang on a unit's page."""
    cells = nbformat.read(solved_of(course.root, unit), as_version=4).cells
    said = [o.get("data", {}).get("text/html", "") for cell in cells for o in cell.get("outputs", [])]
    report = next(html for html in said if HANGS in html)
    ranks = re.match(r".*?Ranks 0-(\d+) did", report, re.S)
    who = NUMBERS.get(ranks[1], "Some") if ranks else "Some"
    return f"""A program that hangs is an answer, too. {who} processes that wait for each other in
[unit {unit[:2]}](units/{unit}.ipynb) end with this report, not with a restart of the kernel:

{_as_output(report)}"""


def _as_output(html: str) -> str:
    """HTML as the site shows the output of a cell."""
    return f"""```{{raw}} html
<div class="cell_output docutils container sample"><div class="output text_html">
{html}
</div></div>
```"""
