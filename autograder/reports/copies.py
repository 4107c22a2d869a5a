"""Similar answers of two students, for a person to look at. Nothing here scores anybody, and no similarity proves
anything.

Only solution cells are compared, cell by cell. An answer becomes a row of tokens without layout, comments and
docstrings, in which all names of the student's own are the same, so that renaming and reformatting change nothing.
Two rows are as similar as the share of tokens that stand in both in the same order (Indel similarity, `rapidfuzz`).

Students who solve the same exercise write similar code. So an answer is also compared with everything that needs no
copying to be written: the released text, the published solution, the bank's answers, and what a good part of the
class has. What counts is by how many tokens two answers resemble each other *more* than either resembles any of
those. A short function leaves no room for that; a whole assignment does, and its cells add up. Apart from that, whole
notebooks that are the same letter by letter are listed in groups.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, islice

import numpy as np
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Text
from rapidfuzz import process
from rapidfuzz.distance import Indel

from autograder.pages import page
from autograder.shown import MOST_READ, cut, pieces
from labkit.cells.slicing import bound_names

ENOUGH = 30  # tokens that a pair has in common beyond the known answers, in all cells together, to be shown
ALIKE = 0.8  # a cell counts only if two answers are at least this similar
MARGIN = 0.1  # and by at least this much more similar than either is to a known answer
NEAR = 0.95  # two answers as similar as that are the same answer
COMMON = 0.04  # an answer that this share of the class has is a known one
FEW = 5  # but never one that fewer others have
LONGEST = 5000  # tokens of an answer that are looked at
SIDE_BY_SIDE = 100  # pairs whose answers a page shows
_LEFT_OUT = re.compile(r"[ \t]*(?:#|(?:import|from)\s)")
_KEPT = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)


@dataclass(frozen=True)
class Token:
    """A token as it is compared, and where it stands in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class SimilarAnswers:
    """A cell that two students answered alike. similarity: of the two; known: the higher of theirs to any known
    answer (0 to 1).

    beyond: tokens in common that no known answer explains. first, second: the two texts; marks: their parts that are
    the same, as (start, end) in each.
    """

    name: str
    similarity: float
    known: float
    beyond: float
    first: str
    second: str
    marks: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Pair:
    """Two students whose answers a person should read side by side. cells: the similar ones, in the order of the
    notebook."""

    first: str
    second: str
    cells: tuple[SimilarAnswers, ...]

    @property
    def beyond(self) -> float:
        """Tokens in common that no known answer explains, in all cells."""
        return sum(cell.beyond for cell in self.cells)


@dataclass(frozen=True)
class Same:
    """Students whose answers are the same letter by letter, in every cell that they wrote. cells: their names, in the
    notebook's order.

    known: cells of these whose text is also a known answer, for example the published solution.
    """

    students: tuple[str, ...]
    cells: tuple[str, ...]
    known: tuple[str, ...]


# -- an answer as tokens ----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)  # the known answers, and what many students left as it was
def code_tokens(source: str) -> tuple[Token, ...]:
    """Python, valid or not, without layout, comments, docstrings and imports. Names of functions, methods and
    attributes that are used stay; all others are the same name."""
    kept = _read(source)
    text = "".join(piece for _, piece in kept)
    starts = list(accumulate((len(piece) for _, piece in kept), initial=0))

    def place(at: int) -> int:
        """The index in `source` of a character of `text`."""
        k = bisect_right(starts, at) - 1
        return kept[k][0] + at - starts[k]

    lexed = (
        (kind, piece, at)
        for at, kind, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text)
        if piece.strip() and kind not in Comment and kind not in Text and kind not in Literal.String.Doc
    )
    raw = list(islice(lexed, LONGEST))
    own = {text for kind, text, _ in raw if kind in Name.Function or kind in Name.Class}
    found: list[Token] = []
    done = 0
    for k, (kind, text, at) in enumerate(raw):
        before, after = raw[k - 1][1] if k else "", raw[k + 1][1] if k + 1 < len(raw) else ""
        start, end = place(at), place(at + len(text) - 1) + 1
        if kind in Literal.String:
            shown = "string"
            if found and found[-1].text == shown and done == at:  # a string comes in pieces
                start = found.pop().start
        elif kind in Keyword or kind not in Name or text in _KEPT:
            shown = text
        elif text in own or not (before == "." or after == "("):
            shown = "name"
        else:
            shown = text
        found.append(Token(shown, start, end))
        done = at + len(text)
    return tuple(found)


def _read(source: str) -> list[tuple[int, str]]:
    """(place, piece) of what a lexer is given, at most `MOST_READ` characters: no empty lines, no lines of imports and
    comments, no long runs of blanks."""
    found, left = [], MOST_READ
    for at, line in pieces(source):
        if line.strip() and not _LEFT_OUT.match(line) and left > 0:
            found.append((at, line[:left]))
            left -= len(line)
    return found


def word_tokens(text: str) -> tuple[Token, ...]:
    """The words of a written answer, in lower case."""
    return tuple(Token(word.group().lower(), word.start(), word.end()) for word in re.finditer(r"\w+", text))


# -- comparing --------------------------------------------------------------------------------------------------------


def similar_pairs(
    answers: Mapping[str, Mapping[str, str]],
    known: Mapping[str, Iterable[str]],
    written: Iterable[str] = (),
    enough: float = ENOUGH,
) -> list[Pair]:
    """The pairs of students to look at, those with most in common first.

    answers: student -> cell -> text. known: cell -> texts that need no copying. written: names of cells that hold
    prose. enough: tokens in common beyond the known answers, over all cells, from which a pair is shown.
    """
    students = sorted(answers)
    cells = list(dict.fromkeys(name for student in students for name in answers[student]))
    compared = {
        name: _compare([answers[s].get(name, "") for s in students], known.get(name, ()), name in set(written))
        for name in cells
    }
    total = sum((one.beyond for one in compared.values()), np.zeros((len(students), len(students))))
    pairs = []
    for i, j in np.argwhere(np.triu(total >= enough, 1)):
        similar = tuple(one.cell(name, i, j) for name, one in compared.items() if one.beyond[i, j] > 0)
        pairs.append(Pair(students[i], students[j], similar))
    return sorted(pairs, key=lambda pair: -pair.beyond)


def same_notebooks(
    answers: Mapping[str, Mapping[str, str]],
    released: Mapping[str, str],
    known: Mapping[str, Iterable[str]],
    enough: float = ENOUGH,
) -> list[Same]:
    """The groups of students who handed in the very same text, the largest first, however many there are and wherever
    the text comes from.

    The pairs above ask what needs no copying; letters, blanks and comments of a whole notebook are never the same by
    chance. released: cell -> the text students were given, which is nobody's answer. enough: tokens of the answers
    from which a group is shown.
    """

    def letters(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    groups: dict[tuple, list[str]] = {}
    for student in sorted(answers):
        mine = {cell: letters(text) for cell, text in answers[student].items()}
        written = tuple((cell, text) for cell, text in mine.items() if text and text != letters(released.get(cell, "")))
        groups.setdefault(written, []).append(student)
    found = []
    for written, students in groups.items():
        if len(students) > 1 and sum(len(code_tokens(text)) for _, text in written) >= enough:
            also = tuple(cell for cell, text in written if text in {letters(one) for one in known.get(cell, ())})
            found.append(Same(tuple(students), tuple(cell for cell, _ in written), also))
    return sorted(found, key=lambda same: -len(same.students))


@dataclass
class _CellAnswers:
    """One cell of all students. similarity, beyond: student x student; known: per student."""

    texts: Sequence[str]
    tokens: Sequence[Sequence[Token]]
    encoded: Sequence[str]
    similarity: np.ndarray
    known: np.ndarray
    beyond: np.ndarray

    def cell(self, name: str, i: int, j: int) -> SimilarAnswers:
        blocks = [block for block in Indel.opcodes(self.encoded[i], self.encoded[j]) if block.tag == "equal"]
        first = _spans(self.tokens[i], [(b.src_start, b.src_end) for b in blocks])
        second = _spans(self.tokens[j], [(b.dest_start, b.dest_end) for b in blocks])
        known = float(max(self.known[i], self.known[j]))
        similarity, beyond = float(self.similarity[i, j]), float(self.beyond[i, j])
        texts = cut(self.texts[i], MOST_READ), cut(self.texts[j], MOST_READ)
        marks = tuple(span for span in first if span[1] <= MOST_READ), tuple(s for s in second if s[1] <= MOST_READ)
        return SimilarAnswers(name, similarity, known, beyond, *texts, marks)


def _compare(texts: Sequence[str], known: Iterable[str], written: bool) -> _CellAnswers:
    tokenize = word_tokens if written else code_tokens
    tokens = [tokenize(text)[:LONGEST] for text in texts]
    letters: dict[str, str] = {}  # a character for each token, so that strings can be compared

    def encode(row: Sequence[Token]) -> str:
        return "".join(letters.setdefault(token.text, _character(len(letters))) for token in row)

    encoded = [encode(row) for row in tokens]
    explained = sorted({encode(tokenize(text)) for text in known} - {""})
    similarity = _similarities(encoded, encoded)
    lengths = np.array([len(row) for row in encoded], dtype=float)
    similarity[lengths == 0, :] = similarity[:, lengths == 0] = 0.0
    nearest = _similarities(encoded, explained).max(axis=1, initial=0.0)
    others = (similarity >= NEAR).sum(axis=1) - 1
    common = others >= max(FEW, COMMON * np.count_nonzero(lengths))
    if common.any():
        nearest = np.maximum(nearest, similarity[:, common].max(axis=1, initial=0.0))
    excess = similarity - np.maximum(nearest[:, None], nearest[None, :])
    counts = (similarity >= ALIKE) & (excess >= MARGIN)
    beyond = np.where(counts, excess * (lengths[:, None] + lengths[None, :]) / 2, 0.0)
    np.fill_diagonal(beyond, 0.0)
    return _CellAnswers(texts, tokens, encoded, similarity, nearest, beyond)


def _character(k: int) -> str:
    """The k-th character, surrogates left out."""
    return chr(k + 1 if k + 1 < 0xD800 else k + 1 + 0x800)


def _similarities(rows: list[str], columns: list[str]) -> np.ndarray:
    if not rows or not columns:
        return np.zeros((len(rows), len(columns)))
    return process.cdist(rows, columns, scorer=Indel.normalized_similarity, dtype=np.float32).astype(float)


def _spans(tokens: Sequence[Token], ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges of tokens as ranges of characters, one for each token: what stands between two, a comment, may differ."""
    return tuple((token.start, token.end) for a, b in ranges for token in tokens[a:b])


# -- a class ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """The result of a comparison, and what was compared. skipped: students whose notebook could not be read. same:
    those with the same text."""

    assignment: str
    students: int
    cells: tuple[str, ...]
    pairs: tuple[Pair, ...]
    skipped: tuple[str, ...]
    same: tuple[Same, ...] = ()


def compare_class(coursedir, assignment: str, enough: float = ENOUGH) -> Compared:
    """Compare the submissions of a course (`nbgrader.coursedir.CourseDirectory`). Raises
    `autograder.reports.results.NoResults`."""
    from autograder.reports import results  # nbgrader takes a second to import

    known, given, written = _given(coursedir, assignment)
    answers: dict[str, dict[str, str]] = {}
    skipped = []
    for student, name, rebuilt in results.answers(coursedir, assignment):
        if rebuilt.refused:
            skipped.append(student)
            continue
        mine = answers.setdefault(student, {})
        mine.update({f"{name}/{cell_id}": cell.source for cell_id, cell in answer_cells(rebuilt.notebook).items()})
    pairs = similar_pairs(answers, known, written, enough)
    same = same_notebooks(answers, given, known, enough)
    return Compared(assignment, len(answers), tuple(known), tuple(pairs), tuple(skipped), tuple(same))


def same_in_class(coursedir, assignment: str) -> tuple[Same, ...]:
    """The part of `compare_class` that takes no time: students whose answers are the same letter by letter. Raises
    `autograder.reports.results.NoResults`."""
    from autograder.reports import results

    known, given, _ = _given(coursedir, assignment)
    answers: dict[str, dict[str, str]] = {}
    for student, name, notebook in results.as_handed_in(coursedir, assignment):
        mine = {f"{name}/{cell_id}": cell.source for cell_id, cell in answer_cells(notebook).items()}
        answers.setdefault(student, {}).update({place: text for place, text in mine.items() if place in known})
    return tuple(same_notebooks(answers, given, known))


def _given(coursedir, assignment: str) -> tuple[dict[str, list[str]], dict[str, str], set[str]]:
    """The texts of each answer cell that prove no copying, such as the released one; and the cells that hold prose."""
    from autograder.grading import course_files
    from autograder.reports import results

    known: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    written: set[str] = set()
    functions: dict[str, set[str]] = {}
    for name in results.notebooks(coursedir, assignment):
        for notebook in (
            results.source(coursedir, assignment, name),
            course_files.released(coursedir, coursedir.config, assignment, name),
        ):
            for cell_id, cell in answer_cells(notebook).items():
                known.setdefault(f"{name}/{cell_id}", []).append(cell.source)
                given[f"{name}/{cell_id}"] = cell.source  # the released one comes last
                if cell.cell_type != "code":
                    written.add(f"{name}/{cell_id}")
                else:
                    functions.setdefault(f"{name}/{cell_id}", set()).update(bound_names(cell.source))
    for place, names in functions.items():
        known[place] += known_answers(names)
    return known, given, written


def answer_cells(notebook) -> dict[str, object]:
    """grade_id -> cell, for the cells that students fill in."""
    marked = [(cell.metadata.get("nbgrader", {}), cell) for cell in notebook.cells]
    return {marks["grade_id"]: cell for marks, cell in marked if marks.get("solution") and marks.get("grade_id")}


def known_answers(functions: Iterable[str]) -> list[str]:
    """The bank's answers, right and wrong, and the reference, of the exercises with these functions."""
    from autograder.answers import sources
    from autograder.registry import all_exercises

    wanted = [e for e in all_exercises() if e.function in set(functions)]
    texts = [e.reference for e in wanted if e.reference]
    for e in wanted:
        texts += sources(e.unit, e.function).values()
    return texts


def render(compared: Compared, when: datetime | None = None) -> str:
    """The pairs side by side, as one HTML page."""
    return page(
        "copies.html", c=compared, most=SIDE_BY_SIDE, when=(when or datetime.now()).strftime("%A %d %B %Y, %H:%M")
    )
