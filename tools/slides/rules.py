"""From an executed notebook to one whose cells are slides. The rules:

- a heading begins a slide; what is an exercise, its check, a recap, or marked as stretch, "Deeper", "Bonus" or "To
  read" is left out with the text below its heading, so that no solution is on any slide;
- a paragraph shows its first sentences, and those that define a term in bold; all of it is in the speaker's notes;
- a picture shares its slide with the paragraph before it or behind it; a second picture begins another slide;
- what defines a term, what asks the class, tables, formulas and lists get another slide where they do not fit any more;
  other paragraphs stay in the notes then;
- code is shown with its output where a section has no picture and both fit: its first lines, and its output's;
- a cell with the tag "no-slide" is left out, one with the tag "slide" begins a slide and is shown.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.grading.formulas import with_formulas
from tools.slides import text

CODE_LINES, OUTPUT_LINES = 13, 11
ENOUGH, MOST = 20, 24  # slides of a unit, and of one with many drawings
LINES = 17.0  # of prose on one slide, its heading included
DRAWN_LINES = 18.6  # the same where a picture is on it, whose height is known and not estimated
CODE = 0.68  # the height of a line of code or output, in lines of prose
COLUMNS = 100  # characters of a line of output
LEFT_OUT = re.compile(r"^#+ (Deeper|Bonus|To read|Where you stand|Recap)\b|· stretch$")
_POINTS = re.compile(r" \(\d+ points?\).*$")
PICTURES = ("image/png", "image/svg+xml")


@dataclass
class _Item:
    """A block of a slide. lines: 0 for one that is in the notes alone. must: it gets a slide of its own rather than go
    to the notes. begins: it begins a slide."""

    cell: NotebookNode
    lines: float
    must: bool = False
    term: bool = False  # it defines one
    picture: bool = False
    begins: bool = False
    notes: str = ""
    caption: str = ""  # of a picture


@dataclass
class _Section:
    """A heading and what stands below it, up to the next one."""

    heading: str
    level: int
    items: list[_Item] = field(default_factory=list)

    @property
    def slides(self) -> list[list[_Item]]:
        """The items of each slide."""
        made: list[list[_Item]] = [[]]
        pictures = any(item.picture for item in self.items)
        for item in self.items:
            if item.begins and made[-1]:
                made.append([])
            if item.cell.cell_type == "code" and not item.picture and pictures and not item.begins:
                continue
            if not _fits(made[-1], item):
                if not item.must:
                    made[-1].append(replace(item, cell=new_markdown_cell(""), lines=0))
                    continue
                made.append(_taken_along(made[-1]) if item.picture else [])
            made[-1].append(item)
        shown = [slide for slide in made if any(item.lines for item in slide)]
        return [_captioned(_without_announcement(slide)) for slide in _merged(shown)]


def _fits(slide: list[_Item], item: _Item) -> bool:
    """True for an item that a slide has room for."""
    if not any(other.lines for other in slide):
        return True
    if item.picture and any(other.picture for other in slide):
        return False
    drawn = item.picture or any(other.picture for other in slide)
    used = text.height("## ") + sum(other.lines for other in slide)
    return used + item.lines <= (DRAWN_LINES if drawn else LINES)


def _merged(slides: list[list[_Item]]) -> list[list[_Item]]:
    """The slides, each with the next one on it where both fit and that one was not asked for."""
    found: list[list[_Item]] = []
    for slide in slides:
        lines = sum(item.lines for item in slide)
        whole = _Item(slide[0].cell, lines, picture=any(item.picture for item in slide))
        if found and not any(item.begins for item in slide) and _fits(found[-1], whole):
            found[-1] += slide
        else:
            found.append(slide)
    return found


def _without_announcement(slide: list[_Item]) -> list[_Item]:
    """The slide without a last sentence that announces what is not on it."""
    shown = [item for item in slide if item.lines]
    last = shown[-1]
    if len(shown) == 1 or last.must or last.picture or not last.cell.source.rstrip().endswith(":"):
        return slide
    return [replace(item, lines=0) if item is last else item for item in slide]


def _captioned(slide: list[_Item]) -> list[_Item]:
    """The slide, with a line that says what is seen where a picture would be alone."""
    shown = [item for item in slide if item.lines]
    if not all(item.picture for item in shown) or not shown[0].caption:
        return slide
    words = new_markdown_cell(with_formulas(shown[0].caption))
    return [_Item(words, text.height(shown[0].caption)), *slide]


def _taken_along(slide: list[_Item]) -> list[_Item]:
    """The last paragraph of a slide, taken from it for the picture that follows, if it is not all that stands there."""
    shown = [item for item in slide if item.lines]
    last = shown[-1]
    if (
        len(shown) < 2
        or last.cell.cell_type != "markdown"
        or last.picture
        or last.lines > DRAWN_LINES - 2 - text.PICTURE
    ):
        return []
    if shown[-2].picture and not any(not one.picture for one in shown[:-2]):
        return []  # the picture before it would be alone
    slide.remove(last)
    return [last]


def slides_of(notebook: NotebookNode) -> NotebookNode:
    """A notebook whose cells carry nbconvert's slide metadata."""
    slides = nbformat.v4.new_notebook(metadata=notebook.metadata)
    for section, made in _trimmed([(section, section.slides) for section in _sections(notebook.cells)]):
        for number, shown in enumerate(made):
            level = "#" if section.level == 1 and not number else "##"
            kind = "slide" if section.level <= 2 and not number else "subslide"
            _add(slides.cells, new_markdown_cell(f"{level} {section.heading}"), kind)
            for item in shown:
                if item.lines:
                    _add(slides.cells, item.cell, "-")
                if item.notes:
                    _add(slides.cells, new_markdown_cell(item.notes), "notes")
    return slides


def _trimmed(deck: list[tuple[_Section, list[list[_Item]]]]) -> list[tuple[_Section, list[list[_Item]]]]:
    """The deck without the slides that are missed least, where it has more than `ENOUGH`; without drawings only where
    it has more than `MOST`. What they show goes to the notes of the slide before. The first slide of a section stays;
    so does one that defines a term or was asked for."""
    while (count := sum(len(made) for _, made in deck)) > ENOUGH:
        found = [
            (_worth(made[k]), -len(made), -number, -k)
            for number, (_, made) in enumerate(deck)
            for k in range(1, len(made))
            if _worth(made[k]) < (3 if count > MOST else 2)
        ]
        if not found:
            break
        _, _, number, k = min(found)
        made = deck[-number][1]
        said = [replace(item, lines=0, notes=item.notes or item.cell.source) for item in made.pop(-k)]
        made[-k - 1] += said
    return deck


def _worth(slide: list[_Item]) -> int:
    """0 for a slide of text alone, 1 for one with a picture that a cell drew, 2 for one with a drawing, 3 for one that
    must stay."""
    shown = [item for item in slide if item.lines]
    if any(item.begins or item.term for item in shown):
        return 3
    pictures = [item.cell.cell_type for item in shown if item.picture]
    return 2 if "markdown" in pictures else 1 if pictures else 0


def _add(cells: list[NotebookNode], cell: NotebookNode, kind: str) -> None:
    cell.metadata["slideshow"] = {"slide_type": kind}
    cell.id = f"slide-{len(cells)}"
    cells.append(cell)


def _sections(cells: list[NotebookNode]) -> list[_Section]:
    """The sections that are shown. What follows an exercise's check belongs to the section around it."""
    reader = _Reader()
    for number, cell in enumerate(cells):
        marks, tags = cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", [])
        if "no-slide" in tags or reader.is_recap(cell):
            continue
        if marks.get("solution") or marks.get("grade"):
            if marks.get("grade"):
                reader.in_exercise = False
        elif cell.cell_type == "markdown":
            following = cells[number + 1].metadata.get("nbgrader", {}) if number + 1 < len(cells) else {}
            reader.prose(cell.source, "slide" in tags, bool(following.get("solution")) and "slide" not in tags)
        elif reader.open:
            reader.run(cell, "slide" in tags)
    return [section for section in reader.sections if section.items]


class _Reader:
    """The sections so far. left_out: the level of the heading that leaves out what is below it, 0 for none."""

    def __init__(self) -> None:
        self.sections: list[_Section] = []
        self.left_out = 0
        self.in_exercise = False

    @property
    def open(self) -> bool:
        """True where cells are shown."""
        return not self.left_out and not self.in_exercise

    @staticmethod
    def is_recap(cell: NotebookNode) -> bool:
        """True for the questions on earlier units and for a reader's own points."""
        return bool(re.match(r"## Recap\b|.*(\n|^)recap\(|.*unit_card\(", cell.source, re.S))

    def prose(self, markdown: str, begins: bool, before_exercise: bool) -> None:
        """Adds the blocks of a Markdown cell. before_exercise: its last section is the text of an exercise."""
        found = text.blocks(markdown)
        headings = [k for k, block in enumerate(found) if re.match(r"#{1,4} ", block)]
        last = headings[-1] if before_exercise and headings and _POINTS.search(found[headings[-1]]) else len(found)
        for number, block in enumerate(found):
            self.in_exercise = self.in_exercise or number == last
            if number in headings:
                self._heading(block)
            elif self.open:
                self._block(block, begins)
                begins = False

    def _heading(self, block: str) -> None:
        level = len(block) - len(block.lstrip("#"))
        if self.left_out and level > self.left_out:
            return
        self.left_out = level if LEFT_OUT.search(block) else 0
        if self.open or not self.sections:
            self.sections.append(_Section(block.lstrip("# "), level))
        elif self.in_exercise and not self.left_out and level <= 2:  # what is behind the exercise needs a heading
            self.sections.append(_Section(_POINTS.sub("", block.lstrip("# ")), level))

    def _block(self, block: str, begins: bool) -> None:
        drawing = block.lstrip().startswith("![")
        shown = text.short(block)
        must = drawing or text.must(shown)
        for part in text.in_parts(shown, LINES - 3):
            cell, lines = new_markdown_cell(with_formulas(part)), text.height(part)
            item = _Item(cell, lines, must or begins, text.defines(part), drawing, begins)
            item.caption = text.first_sentence(re.sub(r"^!\[(.*?)\]\(.*", r"\1", part, flags=re.S)) if drawing else ""
            if part == shown and shown != block or not must and not drawing:
                item.notes = block
            self.sections[-1].items.append(item)
            begins = False

    def run(self, cell: NotebookNode, begins: bool) -> None:
        """Adds a code cell with its outputs; of one that draws, its pictures alone."""
        outputs = [output for output in map(short_output, filter(shows, cell.outputs)) if output.get("text") != ""]
        pictures = [output for output in outputs if is_picture(output)]
        quiet = not outputs or cell.source.startswith(("ranks.start", "ranks.stop"))
        if not self.sections or (only_sets_up(cell.source) and quiet and not begins):
            return
        items = self.sections[-1].items
        printed = [output for output in outputs if output not in pictures]
        if begins or (printed and not pictures):
            source = short_code(cell.source)
            need = (source.count("\n") + 2.2) * CODE + sum(lines_of(output) + 1.4 for output in printed) * CODE
            items.append(_Item(_code(source, printed), need, must=begins, begins=begins))
        alt = cell.metadata.get("alt", "")
        caption = text.first_sentence(alt if isinstance(alt, str) else " ".join(alt))
        items += [_Item(_code("", [one]), text.PICTURE, must=True, picture=True, caption=caption) for one in pictures]


def _code(source: str, outputs: list[NotebookNode]) -> NotebookNode:
    cell = new_code_cell(source, outputs=outputs)
    cell.metadata["tags"] = [] if source else ["no-code"]
    return cell


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
