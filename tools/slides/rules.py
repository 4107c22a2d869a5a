"""From an executed notebook to one whose cells are slides. The rules:

- a heading of the first or second level begins a slide, one of the third a slide below it; what does not fit goes on
  below;
- a paragraph shows its first sentences, and those that define a term in bold; all of it is in the speaker's notes;
- code shows its first lines, an output its first lines; a cell that draws shows the picture alone, on one slide with
  the paragraph before it where both fit;
- an exercise shows its signature and the first paragraph of its docstring; solutions, checks and rubrics are nowhere;
- what only sets up, and what is marked "Deeper", "Bonus" or "To read", is left out; a recap's answers are in the notes;
- a cell with the tag "no-slide" is left out, one with the tag "slide" begins a slide.
"""

from __future__ import annotations

import ast
import re

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.grading.formulas import with_formulas
from tools.slides import text

CODE_LINES, OUTPUT_LINES = 13, 11
LINES = 17.0  # of prose on one slide, its heading included
DRAWN_LINES = 18.6  # the same where a picture is on it, whose height is known and not estimated
CODE = 0.68  # the height of a line of code or output, in lines of prose
COLUMNS = 100  # characters of a line of output
CONTINUED = " <span class='again'>(continued)</span>"
LEFT_OUT = re.compile(r"^#{1,3} (Deeper|Bonus|To read|Where you stand)\b")
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION\n?", re.M | re.S)
PICTURES = ("image/png", "image/svg+xml")


def slides_of(notebook: NotebookNode) -> NotebookNode:
    """A notebook whose cells carry nbconvert's slide metadata."""
    deck = _Deck()
    for cell in notebook.cells:
        role, tags = cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", [])
        if "no-slide" in tags:
            continue
        if "slide" in tags:
            deck.used = LINES
        if cell.cell_type == "markdown":
            deck.prose(SOLUTION.sub("", cell.source))
        elif deck.skipping or (role.get("grade") and not role.get("solution")):
            continue
        elif role.get("solution"):
            deck.code(stub(cell.source, role.get("grade_id", "")), [])
        else:
            deck.run(cell)
    slides = nbformat.v4.new_notebook(cells=deck.cells)
    slides.metadata = notebook.metadata
    return slides


class _Deck:
    """The cells so far, the heading that is open and how full its slide is."""

    def __init__(self) -> None:
        self.cells: list[NotebookNode] = []
        self.heading = ""
        self.used = 0.0
        self.skipping = False

    def prose(self, markdown: str) -> None:
        """Adds the slides of a Markdown cell."""
        for block in text.blocks(markdown):
            level = re.match(r"(#{1,6}) ", block)
            if level:
                self.skipping = bool(LEFT_OUT.match(block)) or (self.skipping and len(level[1]) > 2)
            if self.skipping:
                continue
            if level and len(level[1]) <= 3:
                self._begin("slide" if len(level[1]) <= 2 else "subslide", block)
                continue
            shown = text.short(block)
            for part in text.in_parts(shown, LINES - 3):
                self._room_for(text.height(part), label="")
                self._add(new_markdown_cell(with_formulas(part)), text.height(part))
            if shown != block:
                self._add(new_markdown_cell(block), 0, "notes")

    def run(self, cell: NotebookNode) -> None:
        """A code cell with its outputs."""
        outputs = [output for output in map(short_output, filter(shows, cell.outputs)) if output.get("text") != ""]
        pictures = [output for output in outputs if is_picture(output)]
        if only_sets_up(cell.source) and (not outputs or re.match(r"ranks\.(start|stop)", cell.source)):
            return
        if "unit_card(" in cell.source:  # a reader's own points
            return
        if "\nrecap(" in cell.source:
            answers = [output.data["text/plain"] for output in cell.outputs if "text/plain" in output.get("data", {})]
            self._add(new_markdown_cell("\n\n".join(answers)), 0, "notes")
            return
        draws = bool(pictures) and not cell.source.startswith("%%ranks")
        source = "" if draws else short_code(cell.source)
        printed = [output for output in outputs if output not in pictures]
        if draws:
            self._keep_with_text(self._need("", outputs))
            self._room_for(self._need("", outputs), DRAWN_LINES)
        if source or printed:
            self.code(source, printed)
        for picture in pictures:
            self.code("", [picture])

    def code(self, source: str, outputs: list[NotebookNode]) -> None:
        """Code, or what it has shown, or both."""
        need = self._need(source, outputs)
        self._room_for(need, DRAWN_LINES if any(map(is_picture, outputs)) else LINES)
        cell = new_code_cell(source or "", outputs=outputs)
        cell.metadata["tags"] = [] if source else ["no-code"]
        self._add(cell, need)

    @staticmethod
    def _need(source: str, outputs: list[NotebookNode]) -> float:
        """The number of lines that code and its output take on a slide."""
        printed = sum(lines_of(output) + 1.4 for output in outputs if not is_picture(output))
        need = (source.count("\n") + 2.2 if source else 0) * CODE + printed * CODE
        return need + text.PICTURE * sum(map(is_picture, outputs))

    def _keep_with_text(self, need: float) -> None:
        """Move the paragraph before a picture to the next slide, where the picture does not fit on this one and both
        fit there."""
        shown = [k for k, cell in enumerate(self.cells) if cell.metadata.slideshow.slide_type != "notes"]
        if len(shown) < 2 or self.used + need <= DRAWN_LINES:
            return
        last, before = (self.cells[k] for k in (shown[-1], shown[-2]))
        lines = text.height(last.source)
        again = new_markdown_cell(f"## {self.heading}")
        alone = before.metadata.slideshow.slide_type in ("slide", "subslide")  # nothing else would stay behind
        if last.cell_type != "markdown" or last.metadata.slideshow.slide_type != "-" or alone:
            return
        if text.height(again.source) + lines + need > DRAWN_LINES:
            return
        moved = self.cells[shown[-1] :]
        del self.cells[shown[-1] :]
        self.used = 0.0
        self._add(again, text.height(again.source), "subslide")
        for cell in moved:
            notes = cell.metadata.slideshow.slide_type == "notes"
            self._add(cell, 0 if notes else lines, "notes" if notes else "-")

    def _begin(self, kind: str, heading: str) -> None:
        self.heading, self.used = re.sub(r"^#+ ", "", heading), 0.0
        self._add(new_markdown_cell(re.sub(r"^#+", "##" if self.cells else "#", heading)), text.height(heading), kind)

    def _room_for(self, lines: float, most: float = LINES, label: str = CONTINUED) -> None:
        """A slide below this one where so many lines do not fit any more. label: behind its heading; a paragraph needs
        none, code and outputs belong to what was said on the slide before."""
        if self.used > 2.2 and self.used + lines > most:
            self.used = 0.0
            again = f"## {self.heading}{label}"
            self._add(new_markdown_cell(again), text.height(again), "subslide")

    def _add(self, cell: NotebookNode, lines: float, kind: str = "-") -> None:
        cell.metadata["slideshow"] = {"slide_type": kind if self.cells or kind != "-" else "slide"}
        cell.id = f"slide-{len(self.cells)}"
        self.cells.append(cell)
        self.used += lines


def stub(source: str, name: str = "") -> str:
    """The signature of an exercise, the function of that name, and the first paragraph of its docstring."""
    given = SOLUTION.sub(r"\1...\n", source)
    tree = ast.parse(re.sub(r"^([ \t]*)[%!]", r"\1# ", given, flags=re.M))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if not functions:
        return short_code(given)
    node = next((one for one in functions if one.name == name), functions[0])
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    first = (ast.get_docstring(node) or "").split("\n\n")[0].splitlines() or [""]
    lines = [f'"""{first[0]}', *first[1:]]
    lines[-1] += '"""'
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    return short_code(f"{_wrapped(f'def {node.name}({ast.unparse(node.args)}){returned}')}:\n{body}\n    ...")


def _wrapped(head: str) -> str:
    """A signature on several lines where it is too long for one."""
    if len(head) <= 84:
        return head
    name, _, rest = head.partition("(")
    arguments, _, returned = rest.rpartition(")")
    return f"{name}(\n    " + ",\n    ".join(re.split(r", (?![^\[]*\])", arguments)) + f"\n){returned}"


def short_code(source: str) -> str:
    """The first lines; how many are missing is said."""
    lines = source.strip("\n").splitlines()
    if len(lines) <= CODE_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[: CODE_LINES - 1], f"# ... {len(lines) - CODE_LINES + 1} more lines in the notebook"])


def only_sets_up(source: str) -> bool:
    """True if code only imports, sets constants, or starts and ends ranks: nothing for a slide."""
    if source.startswith(("%%", "!")):
        return False
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return False
    quiet = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)
    calls = ("ranks.", "plt.rcParams", "folder.", "torch.set_")
    return all(
        isinstance(n, quiet) or (isinstance(n, ast.Expr) and ast.unparse(n).startswith(calls)) for n in tree.body
    )


def is_picture(output: NotebookNode) -> bool:
    """An image, or a drawing inside of HTML (what ranks print comes as HTML, too)."""
    data = output.get("data", {})
    return bool(set(data) & set(PICTURES)) or "<svg" in data.get("text/html", "")


def lines_of(output: NotebookNode) -> int:
    """The lines that were printed, as text or as the HTML of ranks and tables."""
    if "text/html" in output.get("data", {}):
        html = output.data["text/html"]
        wraps = sum(len(said) // COLUMNS for said in re.split(r"<[^>]+>|\n", html))
        return len(re.findall(r"<tr|<br|\n|<pre|<p[ >]|<li", html)) + wraps + 1
    return str(output.get("text", output.get("data", {}).get("text/plain", ""))).count("\n") + 1


def shows(output: NotebookNode) -> bool:
    """True if an output says something: errors do, warnings on stderr do not."""
    return output.output_type != "stream" or (output.name == "stdout" and output.text.strip() != "")


def short_output(output: NotebookNode) -> NotebookNode:
    """A copy with the first lines of its text; of a picture nothing but the picture."""
    made = nbformat.from_dict(dict(output))
    if output.output_type == "stream":
        made.text = _first_lines(output.text)
    elif output.output_type == "error":
        made.traceback = [f"{output.ename}: {output.evalue}"[:300]]
    else:
        data = output.data
        kept = next((kind for kind in (*PICTURES, "text/html", "text/plain") if kind in data), None)
        made.data = {kept: data[kept]} if kept else {}
        if kept == "text/plain":
            made.data[kept] = _first_lines(data[kept])
        elif kept == "text/html":  # columns filled up with spaces would run off the slide
            made.data[kept] = re.sub(r" +(?=(?:</\w+>)*\n)", "", data[kept])
    return made


def _first_lines(said: str) -> str:
    said = re.sub(r"your guess(?:es)?: [?, µs%x]*(?:lines)?[.;]?\s*", "", said)
    lines = [line if len(line) <= COLUMNS else line[: COLUMNS - 4] + " ..." for line in said.rstrip().splitlines()]
    if len(lines) > OUTPUT_LINES:
        lines = [*lines[: OUTPUT_LINES - 1], f"... {len(lines) - OUTPUT_LINES + 1} more lines"]
    return "\n".join(lines)
