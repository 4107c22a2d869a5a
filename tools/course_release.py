"""Builds the root of a class: nbgrader's standard layout for the instructor, and the course without solutions for the
students.

    python tools/course_release.py DIR

    DIR/source/ release/     units and homework with and without solutions; nbgrader's gradebook knows them afterwards
    DIR/student/             the tree students work in: no solutions, no bank, no tests
    DIR/overlay/             own exercises, own units, secret keys; made once, never overwritten
    DIR/nbgrader_config.py   made once, never overwritten

Everything is made beside its place and then put there, so that an interruption leaves the old state or the new one.
Submissions, grades, keys and settings are not touched. What was released before stays gradable: nbgrader refuses to
take a cell out of an assignment that has submissions, and says so.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import build_notebooks
from traitlets.config import Config, PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder import content  # noqa: E402
from autograder.course import OVERLAY, Course  # noqa: E402
from autograder.others import packed  # noqa: E402
from autograder.registry import all_exercises  # noqa: E402

NOT_FOR_STUDENTS = (
    *("solutions", "tests", "benchmarks", ".ci", ".github", ".pre-commit-config.yaml", "docs", "notebooks", "homework"),
    *(
        "tools/class",
        "tools/course_release.py",
        "tools/build_notebooks.py",
        "tools/compare_verdicts.py",
        "tools/grade_demo.py",
        "tools/pull_links.py",
        "tools/readme_map.py",
        "tools/site",
        "tools/site_environment.py",
        "tools/slides",
        "tools/teaching.py",
    ),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "nbgrader_config.py"),
)


STUDENTS = "student.md"  # beside course.toml: becomes the README.md of what students get
PRIVATE = (
    "overlay",
    "source",
    "submitted",
    "autograded",
    "feedback",
)  # solutions, keys, and what is said of whom: the owner's alone


class ReleaseError(Exception):
    """An error that the instructor can mend."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, metavar="DIR", help="the root of the class; made if it is not there")
    parser.add_argument("--units", nargs="+", metavar="UNIT", help="only these (default: all)")
    options = parser.parse_args(arguments)
    try:
        made = release(options.root.resolve(), options.units)
    except (ReleaseError, OSError) as error:
        print(f"course-release: {error}", file=sys.stderr)
        return 1
    print(f"{options.root}: {len(made)} units released; students get {options.root / 'student'}")
    print(f"Next: {options.root / 'README.md'}")
    return 0


def release(root: Path, only: list[str] | None = None) -> list[str]:
    """Bring the class's root up to date and return the names of the units in it. Raises Trouble."""
    if any(root == here or here in root.parents for here in (ROOT, content.root())):
        raise ReleaseError(
            f"{root} lies in the course's repository: choose a folder outside, grades and keys do not belong here"
        )
    if root.exists() and any(root.iterdir()) and not (root / "overlay").is_dir():
        raise ReleaseError(f"{root} holds something else: choose a new folder")
    prepare(root)
    os.environ[OVERLAY] = str(root / "overlay")
    sources = unit_roots(root / "overlay")
    unknown = set(only or ()) - set(sources)
    if unknown:
        raise ReleaseError(f"no such unit: {', '.join(sorted(unknown))}. There are: {', '.join(sources)}")
    units = [unit for unit in sources if not only or unit in only]
    for unit in units:
        refuse_other_points(sources[unit], unit)
    for unit in units:
        Course(root).key(unit)
        put(root / "source" / unit, lambda folder, unit=unit: write_source(sources[unit], unit, folder))
    put(root / "images", write_images)
    name_the_course(root / "overlay" / "course.txt")
    generate(root, units)
    (root / "gradebook.db").chmod(0o600)
    put(root / "student", lambda folder: write_student_tree(root, folder))
    return units


def refuse_other_points(root: Path, unit: str) -> None:
    """Raises ReleaseError where a check on a unit's page is worth other points than its exercise's levels together."""
    levels = {f"check_{one.function}": one.points for one in all_exercises() if one.unit == unit}
    for cell in build_notebooks.code_cells(build_notebooks.solution_notebook(root, unit)):
        marks = cell.metadata.get("nbgrader", {})
        said, right = marks.get("points"), levels.get(marks.get("grade_id"))
        if right is not None and said != right:
            name = marks["grade_id"].removeprefix("check_")
            raise ReleaseError(
                f"{unit}: the page gives {said:g} points for {name}, its levels {right:g}: set the page's to {right:g}"
            )


def prepare(root: Path) -> None:
    """Makes what a class needs only once."""
    for folder in ("overlay/exercises", "overlay/solutions", "overlay/keys", "source", "release", "submitted"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("autograded", "feedback"):
        (root / folder).mkdir(exist_ok=True)
    for folder in PRIVATE:
        (root / folder).chmod(0o700)
    for source, name in (
        (ROOT / "tools/class/nbgrader_config.py", "nbgrader_config.py"),
        (ROOT / "tools/class/instructors.md", "README.md"),
    ):
        if not (root / name).exists():
            shutil.copyfile(source, root / name)


def name_the_course(file: Path) -> None:
    """Writes down whose class this is, so that it is not graded with another course's exercises."""
    file.write_text("." if content.root() == content.ENGINE else str(content.root()), encoding="utf-8")


def unit_roots(overlay: Path) -> dict[str, Path]:
    """Unit or homework -> the course or overlay its page is in; one of the overlay stands in for the public one of the
    same name."""
    roots = {}
    for root in (content.root(), overlay):
        roots |= dict.fromkeys((*build_notebooks.units(root), *build_notebooks.homeworks(root)), root)
    return dict(sorted(roots.items()))


def put(target: Path, write) -> None:
    """Let `write` fill a new folder beside `target`, then put it in the place of `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        write(new)
        new.chmod(0o755)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
            target.rename(old / target.name)
            new.rename(target)
            shutil.rmtree(old)
        else:
            new.rename(target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def write_source(root: Path, unit: str, folder: Path) -> None:
    """The executed notebook and what students get beside it. The text it is made from and a homework's finished work
    stay out: nbgrader would release them, and would copy them over what students hand in."""
    build_notebooks.copy_scripts(root, unit, folder)
    notebook = build_notebooks.as_bytes(build_notebooks.solution_notebook(root, unit))
    (folder / build_notebooks.solved_of(root, unit).name).write_bytes(notebook)


def write_images(folder: Path) -> None:
    images = content.root() / "images"
    for path in images.rglob("*"):
        if path.suffix in (".png", ".svg"):
            (folder / path.relative_to(images)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.relative_to(images))


def generate(root: Path, units: list[str]) -> None:
    """nbgrader's generate_assignment for each unit: release/ and the gradebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    # nbgrader starts alembic by its name when it makes the gradebook
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    is_new = not (root / "gradebook.db").exists()

    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.merge(Config({"GenerateAssignment": {"force": True, "create_assignment": True}}))
    config.CourseDirectory.root = str(root)
    for unit in units:
        config.CourseDirectory.assignment_id = unit
        try:
            GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()
        except (SystemExit, NbGraderException):
            if is_new:  # half made, it would be taken for a good one
                (root / "gradebook.db").unlink(missing_ok=True)
            raise ReleaseError(
                f"nbgrader could not release {unit}; the lines above say why. Nothing of the class was lost"
            ) from None


def write_student_tree(root: Path, folder: Path) -> None:
    """The course as students get it: what git tracks, but for the instructor's part, with this class's notebooks and
    exercises."""
    for place, name in files_for_students():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(place / name, folder / name)
    own = content.root() / STUDENTS
    shutil.copyfile(own if own.is_file() else ROOT / "tools/class/students.md", folder / "README.md")
    for unit in sorted((root / "release").iterdir()):
        shutil.copytree(
            unit, folder / ("homework" if build_notebooks.is_homework(unit.name) else "notebooks") / unit.name
        )
    for path in sorted((root / "overlay" / "exercises").glob("unit_*.py")):
        room = content.Room(folder / content.UNITS / path.stem.removeprefix("unit_"))
        room.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, room.exercises)
    (folder / "autograder" / "others.json").write_text(packed(Course(root).answers_shown()), encoding="utf-8")
    for path in sorted((folder / content.UNITS).glob("*/exercises.py")):
        path.write_text(without_references(path.read_text(encoding="utf-8")), encoding="utf-8")
    write_course_file(folder)


def files_for_students() -> Iterator[tuple[Path, str]]:
    """(folder, name below it) of each file: the engine's, and where the course is another's, that one's units and
    images in place of ours."""
    course = content.root()
    gone = tuple(f"{content.UNITS}/{unit}/" for unit in content.course().left_out)
    for name in tracked():
        ours = name == content.FILE or name.startswith((f"{content.UNITS}/", "images/"))
        if is_for_students(name) and (course == ROOT or not ours) and not name.startswith(gone):
            yield ROOT, name
    if course != ROOT:
        paths = [course / content.FILE, *course.glob(f"{content.UNITS}/*/*"), *course.glob("images/**/*")]
        names = [path.relative_to(course).as_posix() for path in paths if path.is_file()]
        yield from ((course, name) for name in names if is_for_students(name) and not name.startswith(gone))


def is_for_students(name: str) -> bool:
    """True for a file of the repository that students get. Of a unit's room they get what its checks need."""
    if name.startswith(f"{content.UNITS}/"):
        return name.count("/") == 2 and name.rsplit("/", 1)[1] in ("exercises.py", "harness.py", "unit.toml")
    return not any(name == part or name.startswith(f"{part}/") for part in NOT_FOR_STUDENTS)


def write_course_file(folder: Path) -> None:
    """Name the overlay's units in the students' course.toml, too, and none that this course leaves out."""
    public = content.course()
    units = sorted({*public.units, *(path.parent.name for path in (folder / content.UNITS).glob("*/exercises.py"))})
    if units != sorted(public.units) or public.left_out:
        lines = "".join(f"    {json.dumps(unit)},\n" for unit in units)
        frameworks = "" if public.frameworks else "frameworks = false\n"
        text = f"title = {json.dumps(public.title)}\n{frameworks}units = [\n{lines}]\n{content.tables(public)}"
        (folder / content.FILE).write_text(text, encoding="utf-8")


def without_references(source: str) -> str:
    """A module of exercises without the right answers in it (`Exercise.reference`).

    A check of a student's own then takes what they have written for an earlier exercise, whatever it is worth; the
    grader has them all.
    """
    lines = source.encode().splitlines(keepends=True)
    for node in sorted(_references(ast.parse(source)), key=lambda node: -node.lineno):
        first, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
        lines[node.lineno - 1 : node.end_lineno] = [first[: node.col_offset] + b'""' + last[node.end_col_offset :]]
    return b"".join(lines).decode()


def _references(tree: ast.Module) -> list[ast.expr]:
    """The values that are given to `reference`, and to names that it is made of."""
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets if getattr(node, "value", None) is not None else []:
            given.setdefault(getattr(target, "id", getattr(target, "attr", "")), []).append(node.value)
    found = given.get("reference", [])
    names = {part.id for value in found for part in ast.walk(value) if isinstance(part, ast.Name)}
    return [
        *found,
        *(value for name in sorted(names) for value in given.get(name, []) if isinstance(value, ast.Constant)),
    ]


def tracked() -> list[str]:
    """The files of the course, by git where this is a clone, else all that lie here and are not made by set-up."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    made = {".venv", ".cache", "work", "__pycache__", ".ipynb_checkpoints"}
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return sorted(path.as_posix() for path in paths if not made & set(path.parts))


if __name__ == "__main__":
    sys.exit(main())
