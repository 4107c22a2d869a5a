"""The notebooks of every unit in solutions/: built as they should be, without an answer in them, and run from start to
end.
"""

import ast
import base64
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from machine import FULL, needs, some
from PIL import Image
from same_cells import same_in_both

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks as builder  # noqa: E402
import update_work  # noqa: E402

UNITS = builder.units(ROOT)
MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "MARK SCHEME")
every_unit = pytest.mark.parametrize("unit", UNITS)


def name_of(unit: str) -> str:
    return builder.source_of(ROOT, unit).stem


def source_text(unit: str) -> str:
    return builder.source_of(ROOT, unit).read_text(encoding="utf-8")


def released(unit: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / unit / f"{name_of(unit)}.ipynb", as_version=4)


def solved(unit: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "solutions" / unit / f"{name_of(unit)}.ipynb", as_version=4)


# --- the build --------------------------------------------------------------------------------------------------------

SOLUTION = (
    '{"grade": false, "grade_id": "twice", "locked": false, "schema_version": 3, "solution": true, "task": false}'
)
CHECK = (
    SOLUTION.replace("true", "false")
    .replace('"grade": false', '"grade": true, "points": 1')
    .replace("twice", "check_twice")
)
LESSON = f"""# %% [markdown]
# # A lesson

# %%
given = 1

# %% [markdown]
# Prose.

# %% nbgrader={SOLUTION}
def twice(x):
    ### BEGIN SOLUTION
    secret_of_the_solution = 2
    return secret_of_the_solution * x
    ### END SOLUTION

# %% nbgrader={CHECK}
assert twice(1) == 2
### BEGIN HIDDEN TESTS
assert twice(4711) == 9422
### END HIDDEN TESTS

# %% tags=["raises-exception"]
# %%time
print(twice(given))
"""


@pytest.fixture
def course(tmp_path):
    """A course of one small unit, with a starter script and a data file beside its notebook."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    folder = tmp_path / "units/01_lesson"
    folder.mkdir(parents=True)
    (folder / "lesson.py").write_text(LESSON)
    (folder / "starter.py").write_text("print('start here')\n")
    (folder / "numbers.csv").write_text("1,2\n")
    return tmp_path


def build_here(course: Path, *options: str) -> int:
    return builder.main(["--root", str(course), *options])


def test_pictures_of_solutions_have_a_palette_and_look_the_same():
    figure, ax = plt.subplots(figsize=(6, 4))
    ax.plot(np.sin(np.arange(100) / 9), label="a curve")
    ax.legend()
    drawn, pixels = io.BytesIO(), []
    figure.savefig(drawn, format="png")
    plt.close(figure)
    png = base64.b64encode(drawn.getvalue()).decode()
    slim = builder.with_palette(png)
    assert len(slim) < len(png) / 2 and builder.with_palette(slim) == slim
    for one in (png, slim):
        pixels.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(one))).convert("RGB")).astype(int))
    assert np.abs(pixels[0] - pixels[1]).max() < 24


def test_generated_files_are_current(capsys):
    status = builder.main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_the_release_has_the_other_files_but_neither_answers_nor_hidden_tests_nor_a_gradebook(course):
    build_here(course)
    paths = {path.relative_to(course).as_posix() for path in course.rglob("*") if path.is_file()}
    notebooks = {path for path in paths if path.startswith("notebooks/")}
    assert notebooks == {
        "notebooks/01_lesson/lesson.ipynb",
        "notebooks/01_lesson/starter.py",
        "notebooks/01_lesson/numbers.csv",
    }
    assert not [path for path in paths if path.endswith(".db")]
    text = (course / "notebooks/01_lesson/lesson.ipynb").read_text()
    for secret in ("secret_of_the_solution", "4711", *MARKERS):
        assert secret not in text
    assert 'raise NotImplementedError(\\"write this function\\")' in text


def test_what_a_text_cannot_decide_stays_out_of_the_notebooks(course):
    build_here(course)
    for path in course.glob("*/01_lesson/lesson.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        assert not [cell for cell in cells if "lines_to_next_cell" in cell.metadata]
        assert [cell.id for cell in cells if "nbgrader" in cell.metadata] == ["twice", "check_twice"]
        assert cells[-1].source.startswith("%%time\n") and cells[-1].metadata.tags == ["raises-exception"]
    first = {path: path.read_bytes() for path in course.glob("*/01_lesson/*.ipynb")}
    for path in first:
        path.unlink()
    build_here(course)
    assert first == {path: path.read_bytes() for path in first}


def test_stock_nbgrader_makes_the_same_release(course):
    build_here(course)
    ours = (course / "notebooks/01_lesson/lesson.ipynb").read_bytes()
    shutil.rmtree(course / "notebooks")
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", "01_lesson"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # a new gradebook calls alembic
    done = subprocess.run(
        command, cwd=course, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert (course / "notebooks/01_lesson/lesson.ipynb").read_bytes() == ours
    assert sorted(path.name for path in (course / "notebooks/01_lesson").iterdir()) == [
        "lesson.ipynb",
        "numbers.csv",
        "starter.py",
    ]


def test_every_unit_ends_with_its_card_and_the_way_to_the_next(course):
    for name in ("02_optional", "03_last"):
        folder = course / "units" / name
        folder.mkdir()
        begin = "# *Optional: if you like.*\n" if "optional" in name else ""
        (folder / f"{name[3:]}.py").write_text(LESSON.replace("# # A lesson", f"# # {name[:2]} · Unit\n#\n{begin}"))
    build_here(course, "--execute", "01_lesson", "02_optional", "03_last")
    assert build_here(course, "--check") == 0
    for whose in ("solutions", "notebooks"):
        ends = [nbformat.read(path, as_version=4).cells[-3:] for path in sorted(course.glob(f"{whose}/*/*.ipynb"))]
        assert [[cell.id for cell in cells] for cells in ends] == [
            ["course-card-text", "course-card", "course-next"]
        ] * 3
        assert [cells[1].source.splitlines()[-1] for cells in ends] == [f'unit_card("0{k}")' for k in (1, 2, 3)]
        ways = [cells[2].source.partition(". The *Start* tab")[0] for cells in ends]
        assert ways[0] == (
            "**Next:** [02 · Unit](../02_optional/optional.ipynb) (optional), then [03 · Unit](../03_last/last.ipynb)"
        )
        assert ways[1] == "**Next:** [03 · Unit](../03_last/last.ipynb)" and ways[2] == "This was the last unit"
    changed = course / "units/01_lesson/lesson.py"
    changed.write_text(LESSON.replace("Prose.", "Better prose."))
    build_here(course)
    cells = nbformat.read(course / "solutions/01_lesson/lesson.ipynb", as_version=4).cells
    own = [cell for cell in cells if cell.cell_type == "code" and not builder.is_common(cell)]
    assert len(own) == 4 and all(cell.execution_count for cell in own)
    assert "".join(output.text for output in cells[-2].outputs) == f"{builder.card.EMPTY}\n"


def outputs(course: Path) -> list[bool]:
    notebook = nbformat.read(course / "solutions/01_lesson/lesson.ipynb", as_version=4)
    return [cell.execution_count is not None for cell in builder.code_cells(notebook)]


def test_outputs_are_kept_when_prose_changes_and_dropped_from_a_changed_cell_on(course, capsys):
    source = course / "units/01_lesson/lesson.py"
    build_here(course, "--execute")
    assert outputs(course) == [True] * 4
    assert build_here(course, "--check") == 0
    source.write_text(LESSON.replace("Prose.", "Better prose.\n#\n# ## And more"))
    assert build_here(course, "--check") == 1
    build_here(course)
    assert outputs(course) == [True] * 4
    assert build_here(course, "--check") == 0
    source.write_text(LESSON.replace("* x", "* x * 1"))
    build_here(course)
    assert outputs(course) == [True, False, False, False]
    capsys.readouterr()
    assert build_here(course, "--check") == 1
    assert "3 code cells" in capsys.readouterr().out
    shutil.rmtree(source.parent)
    build_here(course)
    assert not [path for path in (course / "notebooks").rglob("*") if path.is_file()]


def test_outputs_are_kept_when_only_words_change():
    cell = '%%ranks\ndef f(x):\n    """Twice x."""\n    return 2 * x  # doubled\n\n\nf(1)'
    same = cell.replace("Twice x.", "Returns 2 x.").replace("# doubled", "# twice as much")
    assert builder.what_it_does(same) == builder.what_it_does(cell)
    others = [cell.replace("%%ranks", "%%ranks 0"), cell.replace("Twice", "Twice\n    the"), cell.replace("2 *", "3 *")]
    others += [cell.replace('"""Twice x."""', 'print("Twice x.")'), cell + "\n!ls", cell.replace("\n\n\n", "\n\n")]
    for other in others:
        assert builder.what_it_does(other) != builder.what_it_does(cell), other
    assert builder.what_it_does('"a text"') != builder.what_it_does('"another"')  # it is shown
    assert builder.what_it_does("!ls  # all") != builder.what_it_does("!ls")


def test_outputs_are_dropped_when_an_output_names_a_line_that_moved():
    def page(docstring: str, output: str = "", count: int | None = None) -> nbformat.NotebookNode:
        first = nbformat.v4.new_code_cell(f'def f():\n    """{docstring}"""\n    g()', execution_count=count)
        second = nbformat.v4.new_code_cell("f()", execution_count=count and count + 1)
        second.outputs = [nbformat.v4.new_output("stream", text=output)] if output else []
        return nbformat.v4.new_notebook(cells=[first, second])

    said = {"3": True, "rank 0  recv from 1   cell 8, line 3": True, "Cell In[7], line 3": False}
    for output, kept in {**said, "recv from 1   cell 7, line 3": False}.items():
        notebook = page("Calls g.\n    Twice.")
        builder.keep_outputs(notebook, page("Calls g.", output, 7))
        assert bool(notebook.cells[1].outputs) == kept, output


def test_a_solution_that_fails_is_not_kept(course):
    source = course / "units/01_lesson/lesson.py"
    source.write_text(LESSON.replace("given = 1", "given = 1 / 0"))
    with pytest.raises(Exception, match="ZeroDivisionError"):
        build_here(course, "--execute")
    assert not (course / "solutions").exists()


def test_outputs_do_not_say_where_they_were_made(monkeypatch):
    root = Path("/home/somebody/course")
    monkeypatch.setattr(builder.socket, "gethostname", lambda: "node-17")
    said = "/home/somebody/course/labkit/x.py, /usr/lib/python3/site-packages/torch/a.py <A at 0x7f00aa11bb22> node-17:"
    assert builder.anonymous(said, root) == "labkit/x.py, torch/a.py <A at 0x...> laptop:"
    monkeypatch.setattr(builder.socket, "gethostname", lambda: "work")
    assert builder.anonymous("hard work on work", root) == "hard work on laptop"


# --- what a student gets ----------------------------------------------------------------------------------------------


def split_by_region(text: str) -> tuple[list[str], list[str]]:
    """The lines of a source inside and outside of its solutions and hidden tests, stripped, without empty ones and
    markers.
    """
    inside, outside, secret = [], [], False
    for line in text.splitlines():
        if re.search(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS)", line):
            secret = "BEGIN" in line
        elif line.strip():
            (inside if secret else outside).extend(
                {line.strip(), line.strip().removeprefix("# ")}
            )  # text is a comment in the source
    return inside, outside


@every_unit
def test_no_answer_reaches_the_notebooks(unit):
    inside, outside = split_by_region(source_text(unit))
    assert inside, "a unit without a solution"
    texts = {
        path: path.read_text(encoding="utf-8", errors="replace")
        for path in (ROOT / "notebooks").rglob("*")
        if path.is_file()
    }
    cells = [
        cell.source
        for path in texts
        if path.suffix == ".ipynb"
        for cell in nbformat.reads(texts[path], as_version=4).cells
    ]
    there = {line.strip() for text in [*cells, *texts.values()] for line in text.splitlines()}
    elsewhere = {line for other in UNITS for line in split_by_region(source_text(other))[1]}
    scripts = ROOT.glob("solutions/[0-9]*/*.py")
    scripts = [path for path in scripts if path.name not in builder.not_released(ROOT, path.parent.name)]
    # given to students
    worked = {line.strip() for path in scripts for line in path.read_text(encoding="utf-8").splitlines()}
    leaked = set(inside) & there - set(outside) - elsewhere - worked
    assert not leaked
    for path, text in texts.items():
        assert not [marker for marker in MARKERS if marker in text], path
    assert not (ROOT / "notebooks" / unit / f"{name_of(unit)}.py").exists()


@every_unit
def test_released_notebooks_have_no_outputs(unit):
    for cell in builder.code_cells(released(unit)):
        assert (cell.outputs, cell.execution_count) == ([], None)


def is_written_answer(cell: nbformat.NotebookNode) -> bool:
    """True if the student answers in words and a person gives the points."""
    return cell.cell_type == "markdown" and bool(cell.metadata.get("nbgrader", {}).get("solution"))


def test_only_two_units_ask_for_a_written_answer_and_its_rubric_stays_with_the_instructor():
    written = {unit: [cell for cell in released(unit).cells if is_written_answer(cell)] for unit in UNITS}
    assert {unit[:2] for unit, cells in written.items() if cells} == {"06", "08"}
    for unit, cells in written.items():
        for cell in cells:
            marks = cell.metadata.nbgrader
            assert marks.grade and not marks.locked and marks.points > 0
            assert "Write your answer here" in cell.source
            (whole,) = [
                c.source for c in solved(unit).cells if c.metadata.get("nbgrader", {}).get("grade_id") == marks.grade_id
            ]
            rubric = whole.partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0]
            points = [
                float(number) for number in re.findall(r"^\s*[-*] \**(\d+(?:\.5)?) points?\b", rubric, re.MULTILINE)
            ]
            assert sum(points) == marks.points, (
                f"{unit}: the rubric gives {points}, the question is worth {marks.points}"
            )
            assert not [line for line in rubric.splitlines() if len(line) > 20 and line in cell.source]


def exercises_of(unit: str) -> dict:
    """Function name -> exercise of a unit."""
    from autograder.registry import all_exercises

    return {exercise.function: exercise for exercise in all_exercises() if exercise.unit == unit}


@every_unit
def test_each_exercise_is_a_solution_cell_followed_by_its_check(unit):
    from nbgrader.nbgraderformat import MetadataValidator

    notebook = released(unit)
    MetadataValidator().validate_nb(notebook)
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    ids = [cell.metadata.nbgrader.grade_id for cell in marked]
    assert len(ids) == len(set(ids))
    found = {}
    for cell, following in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        marks = cell.metadata.get("nbgrader", {})
        if not marks.get("solution") or is_written_answer(cell):
            continue
        name = marks["grade_id"]
        assert re.search(rf"^def {name}\(", cell.source, re.MULTILINE), f"cell {name} does not define {name}"
        assert following and following.metadata.get("nbgrader", {}).get("grade_id") == f"check_{name}", (
            f"no check after {name}"
        )
        assert following.source.strip() == f"check({name})"
        assert following.metadata.nbgrader.grade and following.metadata.nbgrader.locked
        found[name] = following.metadata.nbgrader.points
    assert found == {name: exercise.points for name, exercise in exercises_of(unit).items()}


def pictures(text: str) -> list[tuple[str, str]]:
    """(alternative text, path) of every picture in a Markdown text."""
    found = re.findall(r"!\[([^\]]*)\]\(([^)\s]+)", text)
    for tag in re.findall(r"<img\b[^>]*>", text):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        found.append((attributes.get("alt", ""), attributes.get("src", "")))
    return found


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "work"
    update_work.update(ROOT, folder)
    return folder


@every_unit
def test_pictures_exist_from_everywhere_and_have_an_alternative_text(unit, work):
    for cell in released(unit).cells:
        for alternative, path in pictures(cell.source) if cell.cell_type == "markdown" else []:
            assert len(alternative) > 20, path
            for folder in (ROOT / "solutions" / unit, ROOT / "notebooks" / unit):
                assert (folder / path).is_file(), f"{path} from {folder.relative_to(ROOT)}"
            # Lab shows work/ as its root and does not look above it: ../../images is images/ there.
            assert (work / path.replace("../../", "")).is_file(), f"{path} from work/{unit}"


@every_unit
def test_links_to_other_pages_of_the_course_lead_somewhere(unit, work):
    for cell in released(unit).cells:
        for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", cell.source) if cell.cell_type == "markdown" else []:
            if not re.match(r"[a-z]+:|#", target):
                assert (work / unit / target).resolve().is_relative_to(work.resolve()), f"{target} is not in work/"
                assert (work / unit / target).exists(), target


# --- from start to end ------------------------------------------------------------------------------------------------

CELL_DEADLINE = 240  # seconds; three notebooks run at a time, so a cell may take longer here than a student will see
# What a cell tagged `parameters` is given here instead of what it says: name -> Python. `make test-all`, and whoever
# executes a notebook to keep its outputs, runs everything in full.
SMALL: dict[str, dict[str, str]] = {
    "01_mpi_pi": {"WORK": "40_000"},
    "05_gradient_all_reduce": {"batches": "training.minibatches(len(x), BATCH, seed=5)", "PIECES": "[1, 4, 16]"},
    "06_ddp": {"EPOCHS": "1", "IMAGES": "1024"},
    "07_horovod": {"EPOCHS": "1", "here": "{p: throughput(p) for p in (1, 2)}"},
    "08_scaling": {"STEPS": "8", "WARMUP": "2", "SIMULATED": "{4096: (2, 8), 1_000_000: (2, 4)}"},
    "09_multi_node_image_lab": {"EPOCHS": "2"},
    "10_devices_precision": {"STEPS": "60", "SOME_RANKS": "(1, 4)"},
    "11_large_batches": {"IMAGES": "2048", "EPOCHS": "1", "TRIED": "{32: (0.25,), 512: (0.5,)}", "NORM_STEPS": "5"},
    "12_input_pipelines": {"PICTURES": "256", "BATCHES": "12", "WITH_TENSORFLOW": "False"},
    "13_tensorflow_strategies": {"WAYS": '("mwms",)'},
    "14_search": {"TRIALS": "8", "EPOCHS": "3"},
    "15_sharding": {"STEPS": "6", "EVERY": "(0, 2)"},
    "16_tensor_parallel": {"STEPS": "40"},
    "18_networks": {"STEPS": "10"},
    "19_faults": {"BITS": "(20, 40, 62)", "FOR_REAL": "False"},  # torchrun: test_elastic.py
    "20_ten_thousand": {"ROWS": "3", "REPLICAS": "2"},
}
FRAMEWORKS = {"07_horovod": "horovod", "09_multi_node_image_lab": "horovod", "13_tensorflow_strategies": "tensorflow"}
# All are run in `make test-all`; a new or changed page also by whoever builds it (`make notebooks OPTIONS=--execute`).
# Unit 17 is run with another build of PyTorch, too (tools/default_torch.py).
SOLVED, UNSOLVED = sorted({*some(UNITS, 4, first=2), "17_pipeline"}), some(UNITS, 4, first=1)


def each(units: list[str]) -> pytest.MarkDecorator:
    """A test for each of these units."""
    return pytest.mark.parametrize(
        "unit", [pytest.param(u, marks=[needs(FRAMEWORKS[u])] if u in FRAMEWORKS else []) for u in units]
    )


def with_values(source: str, values: dict[str, str]) -> str:
    """A cell's source with other values assigned to those names that it assigns at its top level. Takes them out of
    `values`.
    """
    lines = source.splitlines(keepends=True)
    tree = ast.parse(re.sub(r"\A%%.*", "", source))
    for statement in reversed([one for one in tree.body if isinstance(one, ast.Assign) and len(one.targets) == 1]):
        target = statement.targets[0]
        several = isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
        pairs = zip(target.elts, statement.value.elts, strict=True) if several else [(target, statement.value)]
        for name, value in reversed(list(pairs)):
            if isinstance(name, ast.Name) and name.id in values:
                last = lines[value.end_lineno - 1].encode()[value.end_col_offset :].decode()
                first = lines[value.lineno - 1].encode()[: value.col_offset].decode()
                lines[value.lineno - 1 : value.end_lineno] = [first + values.pop(name.id) + last]
    return "".join(lines)


def test_other_values_for_parameters():
    values = {"A": "[1]", "C": "30", "D": "4"}
    assert (
        with_values("%%ranks 0\nA = [\n    7,\n]  # é\nB, C = 'é', 3\nA = E = 2", values)
        == "%%ranks 0\nA = [1]  # é\nB, C = 'é', 30\nA = E = 2"
    )
    assert values == {"D": "4"}


def without_what_the_solution_shows(unit: str, notebook: nbformat.NotebookNode) -> None:
    """Takes the cells out of an unsolved notebook that do the same in the solved one, where another test runs them."""
    cells = builder.code_cells(notebook)
    kept = {k for k, cell in enumerate(cells) if builder.is_common(cell) or needs_an_answer(cell)}
    files = (ROOT / "notebooks" / unit, ROOT / "solutions" / unit)
    same = same_in_both([cell.source for cell in cells], set(exercises_of(unit)), kept, files)
    left_out = {id(cells[k]) for k in same}
    notebook.cells = [cell for cell in notebook.cells if id(cell) not in left_out]


def needs_an_answer(cell: nbformat.NotebookNode) -> bool:
    return "nbgrader" in cell.metadata or "raises-exception" in cell.metadata.get("tags", [])


def execute(unit: str, whose: str) -> nbformat.NotebookNode:
    """The notebook after it was run from start to end, with small parameters. Of a student's, `make test-all` runs
    every cell, `make test` those that the answers make a difference to."""
    folder = ROOT / ("notebooks" if whose == "student" else "solutions") / unit
    notebook = released(unit) if whose == "student" else builder.solution_notebook(ROOT, unit)
    values = {} if FULL else dict(SMALL.get(unit, {}))
    for cell in builder.code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = with_values(cell.source, values)
    assert not values, "no cell tagged `parameters` assigns these"
    if whose == "student" and not FULL:
        without_what_the_solution_shows(unit, notebook)
    builder.run(notebook, folder, deadline=CELL_DEADLINE, keep_going=True)
    return notebook


def text_of(cell: nbformat.NotebookNode) -> str:
    """What a reader sees under a cell, as plain text."""
    texts = []
    for output in cell.outputs:
        texts.append(
            output.get("text") or output.get("data", {}).get("text/plain") or "\n".join(output.get("traceback", []))
        )
    return "\n".join(texts)


def cards(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Function name -> what the card under its check cell says."""
    marked = [cell for cell in builder.code_cells(notebook) if cell.metadata.get("nbgrader", {}).get("grade")]
    return {cell.metadata.nbgrader.grade_id.removeprefix("check_"): text_of(cell) for cell in marked}


def shows_a_traceback(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell that needs what is not written yet says so in red: a traceback, or an exception of ranks."""
    untold = re.compile(r"^Ranks? [0-9, -]+ raised (NotImplementedError|NameError)", re.MULTILINE)
    return any(output.output_type == "error" for output in cell.outputs) or bool(untold.search(text_of(cell)))


def test_the_printed_look_at_the_machine_finds_nothing_broken():
    """What `labkit doctor` said where the solution was run: a reader of the site takes it for what is usual."""
    solution = nbformat.read(builder.solved_of(ROOT, "00_start_here"), as_version=4)
    tables = [
        text for text in map(text_of, builder.code_cells(solution)) if re.search(r"^packages ", text, re.MULTILINE)
    ]
    assert len(tables) == 1 and not re.search(r"\bbroken\b", tables[0]), tables


def assert_every_cell_ran(notebook: nbformat.NotebookNode) -> None:
    cells = builder.code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@each(UNSOLVED)
@pytest.mark.timeout(600)
def test_a_student_can_run_all_cells_before_anything_is_solved(unit):
    """A cell that needs a function the student has not written yet is tagged raises-exception: Run All goes on behind
    it.
    """
    notebook = execute(unit, "student")
    assert_every_cell_ran(notebook)
    failed = builder.failures(notebook, but_tagged=True)
    assert not failed, "\n\n".join(failed)
    assert not {cell.execution_count: text_of(cell) for cell in builder.code_cells(notebook) if shows_a_traceback(cell)}
    assert set(cards(notebook)) == set(exercises_of(unit))
    for name, card in cards(notebook).items():
        assert card.startswith(name) and "passed" not in card
        assert "still to be written" in card and "NotImplementedError" in card, card


@each(SOLVED)
@pytest.mark.timeout(600)
def test_the_solution_gets_full_marks(unit):
    """Nothing fails, but for the %%ranks cells that hang on purpose: those set a deadline of their own."""
    notebook = execute(unit, "solution")
    assert_every_cell_ran(notebook)
    failed = builder.failures(notebook)
    assert not failed, "\n\n".join(failed)
    for cell in builder.code_cells(notebook):
        first_line = cell.source.partition("\n")[0]
        if first_line.startswith("%%ranks") and "--deadline" not in first_line:
            assert not re.search(
                r"^(Ranks? \d|The cell|Dead since).*( raised | did not |died|came to an end, but)", text_of(cell), re.M
            )
    exercises = exercises_of(unit)
    assert set(cards(notebook)) == set(exercises)
    for name, card in cards(notebook).items():
        points = exercises[name].points
        score = f"{points} of {points} point" if points else "passed"
        assert card.startswith(name) and score in card.splitlines()[0], card
