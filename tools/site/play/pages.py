"""The pages on which exercises are written and judged: markdown, with an editor for each."""

from __future__ import annotations

import html
import re
from pathlib import Path

import nbformat

from autograder import content
from autograder.browser.names import EXERCISES, PUZZLES
from tools.build_notebooks import solved_of
from tools.site.play import planner
from tools.site.units import Links

FOLDER = "play"
OWN = ("play.js", "play.css", "worker.js", "planner.js", "planner.css")
SIZE = "about 14 MB once, then cached"
HEADING = re.compile(r"^##+ (.+)$", re.M)
TITLES_TAIL = re.compile(r"(?: \(\d+ points?\))?(?: · stretch)?$")  # the card has the points, and all is stretch here
LIMITS = {"best_mesh": 60}  # seconds; it tries hundreds of meshes
STARTS = {"three_parts": "F{k} B{k} W{k}", "heavy_head": "F{k} B{k} W{k}", "two_chunks": "F{k}.0 F{k}.1 B{k}.1 B{k}.0"}

PICTURE = (
    "![1F1B with three micro-batches on four ranks as a timeline of 18 slots. A forward pass takes 1 "
    "slot, a backward pass 2; idle time is hatched. Arrows: each F0 waits for the F0 of the rank before, "
    "from rank 0 down to 3; each B0 waits for the B0 of the next rank, from rank 3 up to "
    "0.](../images/reading_a_timeline.svg)"
)

ABOUT_PUZZLES = f"""---
orphan: true
---
# Play: a pipeline of four ranks

Four ranks, eight micro-batches, and a picture with too much white in it. Write what each rank does, press *Run*, and
make the white part smaller. Seven pipelines are waiting, each of which lacks something: memory, a fast stage, fast
links. They are judged by the course's own code, in this page: Python is loaded when you press *Run* for the first time
({SIZE}; a few seconds), and nothing that you write leaves your browser.

An order is four strings, one for each rank. `F3` is the forward pass of micro-batch 3 through this rank's layers, `B3`
its backward pass. A forward pass needs that of the rank before; a backward pass needs that of the rank behind, and its
own forward pass. The picture has a lane for each rank:

{PICTURE}

A micro-batch is alive on a rank from the beginning of its `F` to the end of its `B` (of its `W`, where there is one):
the blue curves below the lanes. A slot is drawn as a second, and what a forward pass leaves behind as 1 MB.
Every rank here does one micro-batch after the other: that is right, and slow. The strings may be written by hand or
computed. When you want more: [fifteen exercises](exercises.md) in Python alone, or the whole course, whose ranks talk
to each other for real. For that it must be installed, because a page has one process.
"""
ABOUT_EXERCISES = f"""---
orphan: true
---
# Exercises to write in this page

These exercises of the course need nothing but Python's own library, so that a browser can judge them: the same cases,
the same mistakes with their names and the same cards as in Lab. Python is loaded when you press *Run* for the first
time ({SIZE}; a few seconds), and nothing that you write leaves your browser. There is no numpy here; an answer that
uses it is not judged. All others need ranks, tensors or frameworks: install the course. [Seven puzzles](index.md) are
here, too.
"""


def start_of(function: str, stub: str) -> str:
    """The text that the editor has at first: the stub; for a puzzle with one micro-batch after the other in it."""
    if function not in PUZZLES:
        return stub.rstrip() + "\n"
    words = STARTS.get(function, "F{k} B{k}")
    order = f'    in_turn = " ".join(f"{words}" for k in range(8))\n    return [in_turn, in_turn, in_turn, in_turn]\n'
    return re.sub(r"^    raise NotImplementedError.*\n?", order, stub.rstrip() + "\n", flags=re.M)


def editor(function: str, text: str) -> str:
    """The HTML of an exercise's editor, its buttons, and the places of verdict, card and picture."""
    limit = f' data-limit="{LIMITS[function]}"' if function in LIMITS else ""
    said, patience = html.escape(text), " Judging takes up to a minute." if function in LIMITS else ""
    return f"""```{{raw}} html
<div class="play" data-exercise="{function}"{limit}>
<div class="play-editor"><pre class="play-lines" aria-hidden="true">1</pre>
<textarea class="play-text" id="text-{function}" aria-label="{function}: your answer" aria-describedby="hint-{function}"
 rows="16" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off">
{said}</textarea></div>
<div class="play-buttons"><button type="button" class="play-run" disabled>Run</button>
<button type="button" class="play-anew" disabled>Begin again</button>
<span class="play-hint" id="hint-{function}">
{SIZE}. Ctrl+Enter runs; Tab indents, Escape and Tab leave.{patience}</span></div>
<div class="play-status" role="status" aria-live="polite"></div>
<div class="play-card cell_output"><div class="output text_html"></div></div>
<div class="play-picture"></div>
</div>
```
"""


SCRIPTS = """```{raw} html
<link rel="stylesheet" href="play.css">
<noscript><p>Without JavaScript this page can be read, but nothing on it can be run.</p></noscript>
<script src="play.js" defer></script>
```
"""
FRONT = f"""## Make the idle part smaller

Four ranks train a model together, a quarter of its layers each. An order is four strings, one for each rank: `F3` is
the forward pass of micro-batch 3 through this rank's layers, `B3` its backward pass. Here every rank does one
micro-batch after the other, so that three of four ranks wait at any time: 96 slots for eight micro-batches. The puzzle
asks for 54 or fewer, with at most two micro-batches alive on a rank. Press *Run*, change the strings, and run it again.
It is the course's own check, in this page: Python is loaded first ({SIZE}), and nothing that you write leaves your
browser.

"""
MORE = """
[All seven puzzles](play/index.md) say more about the rules and draw how to read the picture. [Fifteen
exercises](play/exercises.md) can be written in a page, too, and another one [plans a training](play/planner.md): which
mesh for which model, on how many GPUs. Everything else needs ranks that talk to each other, so it needs the course
installed.
"""


def pages(root: Path, names: list[str], documents: dict[str, str]) -> dict[str, str]:
    """path -> markdown of the pages for those of these units that have playable exercises. documents: see `Links`."""
    built = {}
    for path, about, functions in (
        (f"{FOLDER}/index.md", ABOUT_PUZZLES, PUZZLES),
        (f"{FOLDER}/exercises.md", ABOUT_EXERCISES, EXERCISES),
    ):
        found = {}
        for name in names:
            found |= _of_unit(root, name, path, functions, documents)
        if set(functions) <= set(found):
            built[path] = "\n".join([about, *(found[function] for function in functions), SCRIPTS])
    return {**built, planner.PATH: planner.page(SIZE)} if len(built) == 2 else {}


def front(puzzles: str) -> str:
    """The first puzzle for the site's first page. puzzles: the page of all of them."""
    found = re.search(r"```\{raw\} html\n<div class=\"play\" data-exercise=\"two_alive\".*?\n```\n", puzzles, re.S)
    assert found is not None
    scripts = SCRIPTS.replace('"play.', f'"{FOLDER}/play.')
    return f"{FRONT}{found[0]}{MORE}\n{scripts}"


def _of_unit(root: Path, name: str, path: str, functions: tuple[str, ...], documents: dict[str, str]) -> dict[str, str]:
    """function -> its section, of those exercises of a unit."""
    file = f"notebooks/{name}/{solved_of(root, name).stem}.ipynb"
    if not (root / file).is_file() or not (root / content.UNITS / name / "exercises.py").is_file():
        return {}
    links = Links(root, f"notebooks/{name}", path, documents)
    cells, found = nbformat.read(root / file, as_version=4).cells, {}
    for before, cell in zip(cells, cells[1:], strict=False):
        function = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if function in functions and cell.metadata["nbgrader"].get("solution"):
            text = before.source if before.cell_type == "markdown" else ""
            headings = HEADING.findall(text)
            title = TITLES_TAIL.sub("", headings[-1]) if headings else f"`{function}`"
            words = links.rewritten(HEADING.sub("", text)).strip()
            whole = f"[Unit {name[:2]}](../{documents[file]}#exercise-{function.replace('_', '-')}) has all around it."
            found[function] = f"## {title}\n\n{words}\n\n{whole}\n\n{editor(function, start_of(function, cell.source))}"
    return found
