"""The cells that the unsolved notebook is run without."""

from __future__ import annotations

import pytest
from same_cells import parsed, same_in_both

PAGE = [
    "import torch\nfrom labkit import charts, ranks",
    "ranks.start(2)",
    "x = torch.ones(3)\nseed = 1",
    "def answer(x):\n    raise NotImplementedError",
    "check(answer)",
    "%%ranks\nmine = torch.ones(2)",
    "%%ranks\ntheirs = answer(mine)",
    "for k in range(3):\n    print(k, x)",
    "charts.show([k for k in range(3)])",
    'curve = ranks.pull("theirs")',
    "print(curve, seed)",
    "curve = [1]",
    "print(curve)",
    "!ls",
    "print('start.py')",
    "print('notes.txt')",
    "ranks.stop()",
]


@pytest.fixture
def folders(tmp_path):
    for name, text in (("unsolved", "write this"), ("solved", "answer")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "start.py").write_text(text)
        (tmp_path / name / "notes.txt").write_text("the same")
    return tmp_path / "unsolved", tmp_path / "solved"


def test_cells_that_no_answer_makes_a_difference_to_are_found(folders):
    out = same_in_both(PAGE, {"answer"}, {3, 4}, folders)
    assert [PAGE[k] for k in sorted(out)] == [PAGE[7], PAGE[8], PAGE[11], PAGE[12], PAGE[15], PAGE[16]]


def test_without_answers_nothing_is_needed_but_what_nobody_can_read(folders):
    kept = sorted(set(range(len(PAGE))) - same_in_both(PAGE, set(), set(), folders))
    assert [PAGE[k] for k in kept] == ["!ls", "print('start.py')"]


def test_what_a_function_of_a_later_cell_reads_counts_where_it_is_called(folders):
    page = ["def f():\n    return g()", "def g():\n    return h", "h = 1", "g()", "f()"]
    assert same_in_both(page, set(), {4}, folders) == {3}
    page[2] = "h = answer(1)"
    assert same_in_both(page, {"answer"}, set(), folders) == set()


def test_cells_that_use_one_temporary_folder_stay_together(folders):
    page = ["made = tempfile.mkdtemp()", "x = 1", "write(made)", "print(x)", "read(made, answer)", "rmtree(made)"]
    assert same_in_both(page, {"answer"}, set(), folders) == {1, 3}


@pytest.mark.parametrize(
    ("source", "reads", "sets", "changes"),
    [
        ("x = x + 1", "x", "x", ""),
        ("x = 1\nprint(x)", "print", "x", ""),
        ("x += 1", "x", "x", ""),
        ("x.append(y)", "x y", "", "x"),
        ("x[0].y = 1", "x", "", "x"),
        ("for k in x:\n    y = k", "x", "k y", ""),
        ("y = [k for k in x if k]", "x", "k y", ""),
        ("def f(x=a):\n    k = x\n    return k + b", "a b", "f", ""),
        ("f = lambda x: x + b", "b", "f", ""),
        ("f = (lambda: b, lambda: c)", "b c", "f", ""),
        ("class A(B):\n    c = d\n    def m(self):\n        return e", "B d e", "A", ""),
        ("import a.b, c as d\nfrom e import f", "", "a d f", ""),
        ("with open(a) as b:\n    b.read()", "open a", "b", ""),
        ("%%ranks 0\nx = 1", "ranks", "x", ""),
        ("%%time\nx = 1", "", "x", ""),
        ("torch.manual_seed(1)\nranks.stop()", "torch ranks", "", "ranks"),
    ],
)
def test_names_of_a_cell(source, reads, sets, changes):
    cell = parsed(source)
    assert (cell.reads, cell.sets, cell.changes) == tuple(frozenset(one.split()) for one in (reads, sets, changes))
