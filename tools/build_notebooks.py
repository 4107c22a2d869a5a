"""Builds the course's notebooks from their one source, the page in a unit's room (jupytext, py:percent).

    python tools/build_notebooks.py                    brings solutions/, notebooks/ and homework/ up to date
    python tools/build_notebooks.py --execute [UNIT]   also runs the solutions, to be read with their outputs
    python tools/build_notebooks.py --check            changes nothing; fails when a generated file is stale

    units/NN_topic/topic.py --jupytext--> solutions/NN_topic/topic.ipynb --nbgrader-->
    notebooks/NN_topic/topic.ipynb

Scripts beside the page go along, but for what the grader needs (`autograder.content.GRADERS`). The homeworks,
units/scaling_mnist and units/train_a_mesh, go to homework/ in the same way, without the finished work, which is in
solutions/ alone. A class's own units have no room: their page lies in solutions/NN_topic/ itself.

Building twice changes nothing: cell ids come from the grade_id or the cell's text, never from chance. Outputs in
solutions/ are kept up to the first code cell that changed; from there on they would describe another program, so they
go until ``--execute``. Words of a docstring or a comment change no program, as long as every line keeps its number.

What every unit has is put in here, not written in each source: the recap behind the first cell (autograder/start), the
unit's card and the way to the next unit at the end. These cells are tagged `generated`; what solutions/ show below them
is written here, too.
"""

from __future__ import annotations

import argparse
import ast
import base64
import hashlib
import io
import json
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from PIL import Image
from traitlets.config import Config, PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from autograder import content  # noqa: E402
from autograder.start import card, recap  # noqa: E402
from tools import left_out  # noqa: E402

CELL_DEADLINE = 180  # seconds; a cell that takes longer is a bug, a unit runs within a minute
HOMEWORK_DEADLINE = 900  # seconds for a cell of the homework: it trains on 1, 2, 4 and 8 ranks
CHECKED = "check("
OF_POINTS = re.compile(r"([\d.]+) of ([\d.]+) points")  # of a card
RERUN = 'make notebooks OPTIONS="--execute {unit}"'
GENERATED = "generated"  # the tag of cells that are not in a unit's source
WIDGET = "application/vnd.jupyter.widget-view+json"  # a progress bar that is gone when the notebook is read
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "name": "python",
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "pygments_lexer": "ipython3",
    },
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when a generated file is stale; write nothing")
    parser.add_argument(
        "--execute", nargs="*", metavar="UNIT", help="run the solutions (all, or these) and keep their outputs"
    )
    parser.add_argument("--root", type=Path, default=content.root(), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    known = [*units(options.root), *homeworks(options.root)]
    unknown = set(options.execute or ()) - set(known)
    if unknown:
        parser.error(f"no such unit: {', '.join(sorted(unknown))}. There are: {', '.join(known)}")
    for unit in known if options.execute == [] else options.execute or ():
        execute(options.root, unit)
    built = build(options.root)
    if options.check:
        return report_stale(options.root, built)
    for path in write(options.root, built):
        print(f"wrote {path}")
    return 0


def units(root: Path) -> list[str]:
    """Names of the units that have a page: in the order of course.toml; in a class's overlay, by name."""
    return [name for name in _names(root, "units") if not is_homework(name)]


def homeworks(root: Path) -> list[str]:
    """Names of the homework assignments that have a page, likewise."""
    return [name for name in _names(root, "homework") if is_homework(name)]


def _names(root: Path, kind: str) -> list[str]:
    """The names that course.toml lists as `kind`; where there is none, all that have a folder."""
    if (root / content.FILE).is_file():
        names = getattr(content.course(root), kind)
    else:
        names = sorted({path.name for place in (content.UNITS, "solutions") for path in root.glob(f"{place}/*")})
    return [name for name in names if source_of(root, name).exists()]


def is_homework(name: str) -> bool:
    """True for a homework's name; a unit's begins with its number."""
    return not name[:2].isdigit()


def not_released(root: Path, name: str) -> tuple[str, ...]:
    """Names and patterns of the files in solutions/NAME that no student may get, besides the page's text: what they
    write themselves, and what the executed notebook makes (`products`)."""
    return (*_about(root, name).get("not_released", ()), *products(root, name))


def products(root: Path, name: str) -> tuple[str, ...]:
    """Patterns of the files that a homework's executed notebook makes: finished work, too."""
    return tuple(_about(root, name).get("products", ()))


def _about(root: Path, name: str) -> dict:
    """The content of its unit.toml; {} for a class's own unit, which has no room."""
    course = content.course(root) if (root / content.FILE).is_file() else content.Content(root, "", ())
    return course.room(name).about


def source_of(root: Path, unit: str) -> Path:
    """The page of a unit as text: in its room, or where it has none in solutions/UNIT."""
    room = _page_in(root / content.UNITS / unit)
    return room if room.exists() else _page_in(root / "solutions" / unit)


def solved_of(root: Path, unit: str) -> Path:
    """The page as an executed notebook."""
    return root / "solutions" / unit / f"{source_of(root, unit).stem}.ipynb"


def _page_in(folder: Path) -> Path:
    """NN_topic/topic.py, or the one .py in the folder that is a notebook: unit 07's cannot be called horovod.py, which
    Python would import in place of Horovod. A homework's is called like its folder."""
    named = folder / f"{folder.name if is_homework(folder.name) else folder.name[3:]}.py"
    if named.exists():
        return named
    notebooks = [
        path for path in sorted(folder.glob("*.py")) if path.read_text(encoding="utf-8").startswith("# %% [markdown]")
    ]
    return notebooks[0] if len(notebooks) == 1 else named


def build(root: Path = ROOT) -> dict[str, bytes]:
    """Every generated file, as path relative to root -> content. Nothing in the tree is touched."""
    built = {}
    with tempfile.TemporaryDirectory(prefix="notebooks-") as folder:
        course = Path(folder)
        settings = root / "nbgrader_config.py"
        shutil.copy(settings if settings.exists() else ROOT / settings.name, course)
        for unit in (*units(root), *homeworks(root)):
            source, solved = source_of(root, unit), solved_of(root, unit)
            notebook = as_bytes(solution_notebook(root, unit))
            (course / "solutions" / unit).mkdir(parents=True)
            copy_scripts(root, unit, course / "solutions" / unit)
            (course / "solutions" / unit / solved.name).write_bytes(notebook)
            built[f"solutions/{unit}/{solved.name}"] = notebook
            if source.parent != solved.parent:
                built |= {f"solutions/{unit}/{name}": made for name, made in scripts(root, unit).items()}
        release(course, [*units(root), *homeworks(root)])
        for path in sorted([*(course / "notebooks").rglob("*"), *(course / "homework").rglob("*")]):
            if path.is_file():
                built[path.relative_to(course).as_posix()] = path.read_bytes()
    return built


def as_bytes(notebook: NotebookNode) -> bytes:
    return (nbformat.writes(notebook) + "\n").encode()


def scripts_beside(page: Path) -> list[Path]:
    """The files beside a page that belong to it: all but the page itself and what the grader needs."""
    not_its = {"__pycache__", ".ipynb_checkpoints", page.name, f"{page.stem}.ipynb", *content.GRADERS}
    paths = [path for path in page.parent.rglob("*") if path.is_file()]
    return sorted(path for path in paths if not not_its & set(path.relative_to(page.parent).parts))


def copy_folder(source: Path, target: Path, *but: str) -> None:
    """Copies the folder of a page without what the grader needs. but: names or patterns of files left out, too."""
    ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", *content.GRADERS, *but)
    shutil.copytree(source, target, ignore=ignored)


def copy_scripts(root: Path, unit: str, target: Path) -> None:
    """Copies what students get beside a page, as this course has it."""
    page, but = source_of(root, unit), not_released(root, unit)
    for name, made in scripts(root, unit).items():
        place = target / name
        if not any(fnmatch(place.name, pattern) for pattern in but):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(made)
            shutil.copymode(page.parent / name, place)


def scripts(root: Path, unit: str) -> dict[str, bytes]:
    """The files beside a page, name -> content, as this course has them."""
    page = source_of(root, unit)
    found = [path for path in scripts_beside(page) if not left_out.goes(root, unit, path.name)]
    return {path.relative_to(page.parent).as_posix(): left_out.file(root, unit, path) for path in found}


# --- from text to notebook --------------------------------------------------------------------------------------------


def solution_notebook(root: Path, unit: str) -> NotebookNode:
    """The notebook of a unit's page, with the outputs that the executed one has, where they are still true."""
    source, paired = source_of(root, unit), solved_of(root, unit)
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.cells = left_out.cells(root, unit, notebook.cells)
    taken: set[str] = set()
    for cell in notebook.cells:
        cell.metadata.pop("lines_to_next_cell", None)
        cell.id = cell_id(cell, taken)
        taken.add(cell.id)
    if not is_homework(unit):
        notebook.cells = with_common_cells(notebook.cells, root, unit)
    if paired.exists():
        keep_outputs(notebook, nbformat.read(paired, as_version=4))
    return notebook


def with_common_cells(cells: list[NotebookNode], root: Path, unit: str) -> list[NotebookNode]:
    """The cells of a unit with its recap, its card and the way to the next unit; unchanged in a course of one unit."""
    there = units(root)
    if len(there) < 2:
        return cells
    opening = []
    if asked := recap.as_markdown(unit):
        html, text = recap.as_solved(unit)
        shown = nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": text})
        opening = [common("markdown", "recap", asked), common("code", "recap-answers", recap.as_cell(unit), [shown])]
    shown = nbformat.v4.new_output("stream", name="stdout", text=f"{card.EMPTY}\n")
    closing = [
        common("markdown", "card-text", "## Where you stand"),
        common("code", "card", card.as_cell(unit), [shown]),
        common("markdown", "next", the_way_on(root, there[there.index(unit) + 1 :])),
    ]
    return [*cells[:1], *opening, *cells[1:], *closing]


def common(kind: str, name: str, source: str, outputs: list | None = None) -> NotebookNode:
    """A cell that every unit has."""
    cell = nbformat.v4.new_markdown_cell(source) if kind == "markdown" else nbformat.v4.new_code_cell(source)
    cell.id, cell.metadata.tags = f"course-{name}", [GENERATED]
    if kind == "code":
        cell.outputs = outputs or []
    return cell


def is_common(cell: NotebookNode) -> bool:
    return GENERATED in cell.metadata.get("tags", [])


def the_way_on(root: Path, following: list[str]) -> str:
    """A link to the next unit, and where that is optional, to the one behind it, too."""
    links = []
    for unit in following:
        source = source_of(root, unit)
        text = source.read_text(encoding="utf-8")
        title = re.search(r"^# # (.+)$", text, re.MULTILINE)
        links.append(f"[{title[1] if title else unit}](../{unit}/{source.stem}.ipynb)")
        if "*Optional" not in text[:1000]:
            break
        links[-1] += " (optional)"
    where = "The *Start* tab shows the whole course (to open it: View > Activate Command Palette > Start page)."
    return f"**Next:** {', then '.join(links)}. {where}" if links else f"This was the last unit. {where}"


def cell_id(cell: NotebookNode, taken: set[str]) -> str:
    """The grade_id, or a digest of the cell's text: the same on every build and unmoved by changes elsewhere."""
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
    name = grade_id or hashlib.sha1(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
    name = re.sub(r"[^a-zA-Z0-9_-]", "-", name)[:60]
    if name not in taken:
        return name
    return next(f"{name}-{copy}" for copy in range(2, 1000) if f"{name}-{copy}" not in taken)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def keep_outputs(notebook: NotebookNode, executed: NotebookNode) -> None:
    """Copies outputs from `executed` to `notebook`, cell by cell, up to the first code cell that does something else,
    or whose statements stand on other lines although an output names one of them. The cells that every unit has bring
    their own."""
    ours, theirs = ([cell for cell in code_cells(one) if not is_common(cell)] for one in (notebook, executed))
    named = cells_named(theirs)
    for cell, old in zip(ours, theirs, strict=False):
        if cell.source != old.source:
            (does, lines), (did, old_lines) = what_it_does(cell.source), what_it_does(old.source)
            if does != did or (lines != old_lines and old.execution_count in named):
                return
        cell.outputs, cell.execution_count = old.outputs, old.execution_count


def cells_named(cells: list[NotebookNode]) -> set[int]:
    """The execution counts of the cells of which some output names a line, as a traceback or a hang report does."""
    texts = (json.dumps(cell.outputs) for cell in cells)
    return {int(number) for text in texts for number in re.findall(r"[Cc]ell (?:In ?\[)?(\d+)\]?, line", text)}


def what_it_does(source: str) -> tuple[tuple, list[int]]:
    """A code cell without the words of its docstrings and comments, and the line of each of its statements. The text
    itself where it is not all Python."""
    magic, code = re.match(r"((?:%%.*\n)?)([\s\S]*)", source).groups()
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return (source,), []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body[0].value.value = ""
    return (magic, ast.dump(tree)), [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]


# --- running ----------------------------------------------------------------------------------------------------------


def execute(root: Path, unit: str) -> None:
    """Runs the solution of a unit and keeps it with its outputs. Raises an error, and keeps nothing, if a cell fails.

    A homework makes its run logs, its table and its figures anew; they are kept, too.
    """
    source, solved = source_of(root, unit), solved_of(root, unit)
    notebook = solution_notebook(root, unit)
    print(f"running {solved.relative_to(root)}", flush=True)
    deadline = HOMEWORK_DEADLINE if is_homework(unit) else CELL_DEADLINE
    anew = (*products(root, unit), *left_out.files(root, unit))  # what is left out is not copied, and nothing makes it
    run(notebook, source.parent, deadline, anew=anew, to=solved.parent)
    if failures(notebook):
        raise RuntimeError(f"{source.relative_to(root)}: a solution must run without an error\n{failures(notebook)[0]}")
    if lost := points_lost(notebook):
        raise RuntimeError(f"{source.relative_to(root)}: a solution must get full points\n{lost[0]}")
    tidy_outputs(notebook, root)
    write_file(solved, as_bytes(notebook))


def run(
    notebook: NotebookNode,
    folder: Path,
    deadline: int = CELL_DEADLINE,
    keep_going: bool = False,
    anew: tuple[str, ...] = (),
    to: Path | None = None,
) -> None:
    """Executes `notebook` in place, in a private copy of `folder`, so that files a cell writes do not end up in the
    course.

    deadline: seconds a cell may take. anew: patterns of files that are not copied, but come to the folder `to` as the
    notebook has made them, if no cell failed. Raises nbclient's CellExecutionError for a cell that fails (unless
    `keep_going`, or the cell is tagged ``raises-exception``) and CellTimeoutError for one that takes too long.
    """
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory(prefix="run-") as private:
        here = Path(private) / "course" / folder.name
        copy_folder(folder, here, *anew)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        environment = {**os.environ, "IPYTHONDIR": f"{private}/ipython", "PATH": path, "PYTHONPATH": python_path()}
        environment["JUPYTERLAB_SETTINGS_DIR"] = f"{private}/lab"  # figures are light, whatever theme your Lab has
        environment.pop("PYTHONUNBUFFERED", None)  # ranks started by mpiexec would mix their lines within a line
        client = NotebookClient(
            notebook,
            timeout=deadline,
            allow_errors=keep_going,
            extra_arguments=["--log-level=ERROR"],
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(here)}},
        )
        client.create_kernel_manager()
        # sockets in a folder: a free TCP port may be somebody else's by the time the kernel takes it
        client.km.transport, client.km.connection_file = "ipc", f"{private}/kernel.json"
        client.execute(env=environment)
        if not failures(notebook):
            for made in (path for pattern in anew for path in sorted(here.glob(pattern))):
                write_file((to or folder) / made.name, made.read_bytes())


def failures(notebook: NotebookNode, but_tagged: bool = False) -> list[str]:
    """The error and the text of every cell that failed, and what stood under the three cells before it; with
    `but_tagged` not of those tagged ``raises-exception``.
    """
    found = []
    shown: list[str] = []
    for cell in code_cells(notebook):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if errors and not (but_tagged and "raises-exception" in cell.metadata.get("tags", [])):
            before = [f"\nUnder a cell before it stood:\n{text}" for text in shown[-3:] if text]
            found.append(f"{errors[0].ename}: {errors[0].evalue}, in the cell\n{cell.source}" + "".join(before))
        shown.append("".join(_text(output) for output in cell.outputs))
    return found


def points_lost(notebook: NotebookNode) -> list[str]:
    """The cards of the checks that give less than full points."""
    cards = ["".join(map(_text, cell.outputs)) for cell in code_cells(notebook) if CHECKED in cell.source]
    return [card for card in cards if (got := OF_POINTS.search(card)) and float(got[1]) < float(got[2])]


def _text(output: NotebookNode) -> str:
    """The text that a reader sees of an output: printed, displayed (as `%%ranks` does), or the error."""
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}\n"
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def python_path() -> str:
    """A PYTHONPATH with which labkit and autograder are found even if the course is not installed."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def tidy_outputs(notebook: NotebookNode, root: Path = ROOT) -> None:
    """Removes from the outputs everything that tells where and when the notebook was run."""
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    for cell in code_cells(notebook):
        cell.metadata.pop("execution", None)
        cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", {})]
        for output in cell.outputs:
            output.get("metadata", {}).pop("execution", None)
            if "text" in output:
                output.text = anonymous(output.text, root)
            if "traceback" in output:
                output.traceback = [anonymous(line, root) for line in output.traceback]
            for kind, value in output.get("data", {}).items():
                if kind == "image/png":
                    output.data[kind] = with_palette(value)
                elif isinstance(value, str) and kind != "image/jpeg":
                    output.data[kind] = anonymous(value, root)


def with_palette(png: str) -> str:
    """A PNG (base64) with at most 256 colours, about a third of the bytes; as it was where that saves nothing."""
    image = Image.open(io.BytesIO(base64.b64decode(png)))
    if image.mode == "P":
        return png
    slim = io.BytesIO()
    on_white = Image.new("RGB", image.size, "white")
    on_white.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    on_white.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(slim, "png", optimize=True)
    return min(base64.b64encode(slim.getvalue()).decode(), png, key=len)


def anonymous(text: str, root: Path) -> str:
    """`text` without the path of the course, temporary folders, memory addresses and the machine's name."""
    text = re.sub(rf"{re.escape(str(root))}/?", "", text)
    text = re.sub(r"/[^\s\"'<>]*/site-packages/", "", text)
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/[^\s\"'<>:,)]*/", "", text)
    text = re.sub(r"\b0x[0-9a-f]{8,16}\b", "0x...", text)
    machine = re.escape(socket.gethostname())
    if re.search(r"[-.\d]", machine):
        return re.sub(rf"\b{machine}\b", "laptop", text)
    # a name like "work" is also a word: only where it says where
    return re.sub(rf"\bon {machine}\b", "on laptop", text)


# --- the student's side -----------------------------------------------------------------------------------------------


def release(course: Path, names: list[str]) -> None:
    """nbgrader's generate_assignment for these units and homeworks of the course root `course`, without a gradebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    config.merge(Config({"SaveCells": {"enabled": False}, "GenerateAssignment": {"no_database": True, "force": True}}))
    config.CourseDirectory.root = str(course)
    log = logging.getLogger("nbgrader")
    log.setLevel(logging.ERROR)
    for unit in names:
        config.CourseDirectory.assignment_id = unit
        config.CourseDirectory.release_directory = "homework" if is_homework(unit) else "notebooks"
        GenerateAssignment(coursedir=CourseDirectory(config=config, log=log), config=config, log=log).start()


# --- the tree ---------------------------------------------------------------------------------------------------------


def generated_files(root: Path) -> set[str]:
    """The generated files that are in the tree now, of whatever unit."""
    found = [*(root / "notebooks").rglob("*"), *(root / "homework").rglob("*")]
    for folder in (path for path in (root / "solutions").glob("*") if path.is_dir()):
        page = _page_in(folder)
        if page.exists():  # a class's own unit, which has no room
            found.append(page.with_suffix(".ipynb"))
        else:
            made = {path for pattern in products(root, folder.name) for path in folder.glob(pattern)}
            found += set(folder.rglob("*")) - made
    paths = [path for path in found if path.is_file() and not {".ipynb_checkpoints", "__pycache__"} & set(path.parts)]
    return {path.relative_to(root).as_posix() for path in paths}


def write(root: Path, built: dict[str, bytes]) -> list[str]:
    """The paths that changed when the tree was brought up to date."""
    changed = []
    for name, made in built.items():
        path = root / name
        if path.exists() and path.read_bytes() == made:
            continue
        write_file(path, made)
        changed.append(name)
    for name in generated_files(root) - set(built):
        (root / name).unlink()
        if not any((root / name).parent.iterdir()):
            (root / name).parent.rmdir()
        changed.append(f"{name} (removed)")
    return changed


def write_file(path: Path, content: bytes) -> None:
    """A file is replaced whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def report_stale(root: Path, built: dict[str, bytes]) -> int:
    """Prints each stale file on a line; returns the exit status, 0 if nothing is stale."""
    there = generated_files(root)
    lines = [f"{name}: missing, run `make notebooks`" for name in built if name not in there]
    lines += [f"{name}: generated from no source, run `make notebooks`" for name in there - set(built)]
    for name in sorted(there & set(built)):
        if (root / name).read_bytes() != built[name]:
            lines.append(f"{name}: differs from its source, run `make notebooks`")
        elif name.startswith("solutions/") and name.endswith(".ipynb"):
            cells = code_cells(nbformat.reads(built[name].decode(), as_version=4))
            unrun = [cell for cell in cells if cell.execution_count is None and not is_common(cell)]
            if unrun:
                unit = Path(name).parent.name
                lines.append(
                    f"{name}: {len(unrun)} code cells changed since it was run, run `{RERUN.format(unit=unit)}`"
                )
    print("\n".join(lines) or f"{len(built)} generated files are current")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
