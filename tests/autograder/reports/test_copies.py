"""The copy check: finds copies in disguise, and leaves those alone who had the same good idea."""

from __future__ import annotations

import ast
import itertools
import random

import pytest

from autograder.answers import sources
from autograder.registry import all_exercises
from autograder.reports import copies
from autograder.reports.copies import code_tokens, render, similar_pairs, word_tokens

CELL = "ring_all_reduce"
ANSWERS = {name: text for name, text in sources("03_collectives", CELL).items() if name.startswith("right_")}
# The same idea as another one's, a few tokens apart: no copy of theirs could be told from what is known.
VARIANTS = {
    "right_irecv_and_send",
    "right_polls",
    "right_receives_of_the_second_half_open",
    "right_tensor_split",
}
RIGHT = [name for name in ANSWERS if name not in VARIANTS]


def others(name: str) -> dict[str, list[str]]:
    """All right answers but this one: as if a student had written it first."""
    return {CELL: [text for other, text in ANSWERS.items() if other != name]}


# -- disguises --------------------------------------------------------------------------------------------------------


def renamed(source: str) -> str:
    """All local names changed; layout and comments gone, as `ast.unparse` leaves it."""
    tree = ast.parse(source)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    new = {name: f"mine_{k}" for k, name in enumerate(sorted(names))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        if isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
    return ast.unparse(tree)


def commented(source: str) -> str:
    """A comment behind every line, blank lines, another indentation."""
    lines = [
        " " * (len(line) - len(line.lstrip())) + line + "  # I thought of this myself\n" for line in source.splitlines()
    ]
    return "\n".join(lines)


def told_in_more_words(source: str) -> str:
    """`x += 1` written out, a result with a name before it is returned, and statements that do nothing."""

    class More(ast.NodeTransformer):
        def visit_AugAssign(self, node):
            value = ast.parse(f"{ast.unparse(node.target)} + 0").body[0].value
            value.op, value.right = node.op, node.value
            return ast.Assign([node.target], value)

        def visit_Return(self, node):
            if node.value is None or isinstance(node.value, ast.Name):
                return node
            return [
                ast.Assign([ast.Name("answer", ast.Store())], node.value),
                ast.Return(ast.Name("answer", ast.Load())),
            ]

        def visit_FunctionDef(self, node):
            self.generic_visit(node)
            node.body[:0] = ast.parse("unused = 0\nprint('start')").body
            return node

    return ast.unparse(ast.fix_missing_locations(More().visit(ast.parse(renamed(source)))))


DISGUISES = {"as it is": str, "commented": commented, "renamed": renamed, "told in more words": told_in_more_words}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("name", RIGHT)
def test_a_copy_of_an_answer_of_ones_own_is_shown(name, disguise):
    copy = DISGUISES[disguise](ANSWERS[name])
    honest = {f"honest {k}": {CELL: ANSWERS[other]} for k, other in enumerate(ANSWERS) if other != name}
    pairs = similar_pairs({"ada": {CELL: ANSWERS[name]}, "bob": {CELL: copy}, **honest}, others(name))
    assert [(pair.first, pair.second) for pair in pairs] == [("ada", "bob")]
    assert pairs[0].cells[0].similarity > 0.8 and pairs[0].cells[0].name == CELL


def test_right_answers_written_differently_are_not_copies():
    """All pairs of right answers to an exercise, both unknown to the check, the hardest case for it: at most 1 in 200
    is shown."""
    shown, looked_at = [], 0
    for exercise in all_exercises():
        written = sources(exercise.unit, exercise.function)
        texts = {name: text for name, text in written.items() if name.startswith("right_")}
        for one in texts:
            for other in [name for name in texts if name > one]:
                known = [text for name, text in texts.items() if name not in (one, other)]
                looked_at += 1
                if similar_pairs({one: {"f": texts[one]}, other: {"f": texts[other]}}, {"f": known}):
                    shown.append((exercise.function, one, other))
    assert looked_at > 400 and len(shown) <= looked_at / 200, shown


def test_a_class_that_writes_known_answers_has_no_pair():
    """40 students, a whole unit, right and wrong answers of the bank, each in names of one's own; many have the
    same."""
    chance = random.Random(3)
    functions = [e.function for e in all_exercises() if e.unit == "03_collectives"]
    texts = {f: list(sources("03_collectives", f).values()) for f in functions}
    disguises = [str, renamed, told_in_more_words]

    def answer(function: str) -> str:
        text = chance.choice(texts[function])
        try:
            return chance.choice(disguises)(text)
        except SyntaxError:
            return text

    answers = {f"s{k}": {f: answer(f) for f in functions} for k in range(40)}
    assert similar_pairs(answers, {f: copies.known_answers([f]) for f in functions}) == []


def test_a_short_function_says_nothing_but_a_whole_unit_adds_up():
    line = "def f{0}(x, p):\n    return [x[k * p + {0}] ** {0} - k for k in range(len(x) // p)]\n"
    answers = {name: {f"f{k}": line.format(k) for k in range(1, 6)} for name in ("ada", "bob")}
    known = {f"f{k}": [f"def f{k}(x, p):\n    return x\n"] for k in range(1, 6)}
    one = {name: {"f1": mine["f1"]} for name, mine in answers.items()}
    assert similar_pairs(one, known) == []
    (pair,) = similar_pairs(answers, known)
    assert len(pair.cells) == 5 and pair.beyond == pytest.approx(sum(cell.beyond for cell in pair.cells))


def test_what_many_in_the_class_wrote_is_no_copy_but_four_friends_are():
    name = RIGHT[0]
    crowd = {f"s{k:02}": {CELL: renamed(ANSWERS[name])} for k in range(12)}
    assert similar_pairs(crowd, others(name)) == []
    friends = {f"s{k:02}": {CELL: renamed(ANSWERS[name]) if k < 4 else ANSWERS[RIGHT[1]]} for k in range(40)}
    assert len(similar_pairs(friends, others(name))) == 6, "each of the four with each other"


def test_whole_notebooks_that_are_the_same_are_listed_however_many_they_are():
    """Of twelve friends none is a pair, because so many have it; that they are the same is seen all the same."""
    name, stub = RIGHT[0], "def g(x):\n    raise NotImplementedError"
    friends = {f"s{k:02}": {CELL: ANSWERS[name] + "\n" * (k % 2), "g": stub} for k in range(12)}
    own = {
        "ada": {CELL: ANSWERS[name].replace("    ", "  "), "g": stub},
        "bob": {CELL: stub, "g": stub},
        "eve": {CELL: "", "g": stub},
    }
    (same,) = copies.same_notebooks(friends | own, {"g": stub, CELL: stub}, others(name))
    assert (same.students, same.cells, same.known) == (tuple(sorted(friends)), (CELL,), ())
    (same,) = copies.same_notebooks(friends | own, {"g": stub, CELL: stub}, {CELL: [ANSWERS[name]]})
    assert same.known == (CELL,), "that it is the published solution is said, and no reason to be silent"
    page = render(copies.Compared("03_collectives", 15, (CELL,), (), (), (same,)))
    assert "letter by letter" in page and "s00, s01" in page and "published solution" in page


def test_the_released_stub_and_empty_cells_are_nobody_s_copy():
    stub = "def f(x):\n    '''Do it.'''\n    # Your code here\n    raise NotImplementedError('write this function')\n"
    answers = {f"s{k}": {"f": text} for k, text in enumerate([stub, stub, "", "", "# nothing", "def f(x:"])}
    assert similar_pairs(answers, {"f": [stub]}) == []
    assert similar_pairs({}, {}) == [] and similar_pairs({"s": {"f": "x"}}, {}) == []


def test_layout_names_and_comments_make_no_tokens():
    plain = [token.text for token in code_tokens("def f(x):\n    y = torch.add(x, 1.5)\n    return y\n")]
    same = code_tokens(
        "import torch\r\n\r\ndef  f( data ) :\r\n  '''Add.'''\r\n  z=torch.add(data,1.5)   # add\r\n  return z"
    )
    assert plain == [token.text for token in same]
    assert "add" in plain and "torch" not in plain and "1.5" in plain
    assert [token.text for token in code_tokens("print(f'{x} a', 'b' \"c\"")][:3] == ["print", "(", "string"]
    broken = "def f(:\n    return ((\n\tx = 'open\n"
    assert code_tokens(broken), "an answer that is no valid Python is compared, too"
    spread = "import os\r\n\r\n   \r\ndef f(x):\r\n\r\n    # why\r\n    return x.sum() + 1\r\n"
    assert [spread[t.start : t.end] for t in code_tokens(spread)] == "def f ( x ) : return x . sum ( ) + 1".split()
    assert [token.text for token in word_tokens("Die Ränder, the Edges")] == ["die", "ränder", "the", "edges"]


def test_written_answers_are_compared_word_by_word():
    text = (
        "The efficiency falls because every rank sends the same number of bytes while its share of the work shrinks, "
        "so that the "
        "time of the all-reduce stays and the time of the step does not; with 64 ranks we measured forty percent."
    )
    other = (
        "Communication takes longer than computation at the end, as Amdahl's law says, and the curve bends away from "
        "the line."
    )
    answers = {
        "ada": {"explain": text},
        "bob": {"explain": text.replace("forty", "40").upper()},
        "eve": {"explain": other},
    }
    (pair,) = similar_pairs(answers, {"explain": ["*Write your answer here.*"]}, written=["explain"])
    assert (pair.first, pair.second) == ("ada", "bob")


def test_the_page_shows_both_answers_and_accuses_nobody():
    evil = ANSWERS[RIGHT[0]] + "\nx = '<script>alert(1)</script>' if 1 < 2 else '</pre>'\n"
    pairs = similar_pairs({"<b>ada": {CELL: evil}, "bob": {CELL: renamed(evil)}}, others(RIGHT[0]))
    page = render(copies.Compared("03_collectives", 2, (CELL,), tuple(pairs), ("<i>zoe",)))
    assert len(pairs) == 1 and page.count("<mark>") > 4 and "<script" not in page
    assert "&lt;b&gt;ada" in page and "&lt;i&gt;zoe" in page and "&lt;script&gt;" in page
    for word in ("plagiar", "cheat", "guilty", "fraud", "suspect", "misconduct"):
        assert word not in page.lower()
    first, second = pairs[0].cells[0].marks
    assert len(first) == len(second)
    assert "No pair stands out." in render(copies.Compared("03_collectives", 0, (), (), ()))


def test_a_page_of_very_many_pairs_stays_readable(monkeypatch):
    monkeypatch.setattr(copies, "SIDE_BY_SIDE", 1)
    name = RIGHT[0]
    pairs = similar_pairs({who: {CELL: ANSWERS[name]} for who in ("ada", "bob", "eve")}, others(name))
    page = render(copies.Compared("03_collectives", 3, (CELL,), tuple(pairs), ()))
    assert len(pairs) == 3 and page.count('<section class="pair"') == 1 and "The first 1 are shown" in page


def test_a_huge_answer_and_a_huge_vocabulary_are_compared():
    words = " ".join(f"w{k}" for k in range(70_000))
    (pair,) = similar_pairs({"ada": {"e": words}, "bob": {"e": words}}, {}, written=["e"])
    assert pair.cells[0].similarity == 1.0
    letters = "".join(copies._character(k) for k in (0, 0xD7FE, 0xD7FF, 0xF0000))
    assert len(set(letters)) == 4 and letters.encode()


@pytest.mark.parametrize("text", ["\n \n", "(", "'", "a.", '"""', "f'{", "@a", "import ", "# \r"], ids=repr)
@pytest.mark.timeout(60)
def test_no_text_keeps_the_check_busy(text):
    """As much of it as a cell may hold. Where the lexer's work grows with the square of the text, this takes many
    minutes."""
    many = code_tokens(text * (100_000 // len(text)))
    assert all(one.end <= other.start for one, other in itertools.pairwise(many))
