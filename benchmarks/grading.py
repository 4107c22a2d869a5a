"""The cost of grading: `autograder grade` beside stock `nbgrader autograde`, the same submissions in one run (`make
bench-grading`).

    python benchmarks/grading.py                    20 submissions of unit 08 (plain functions only) and of unit 03
    python benchmarks/grading.py --stock 3          stock nbgrader on 3 of them only; it takes a minute for each
    python benchmarks/grading.py --class 1000       how time and memory grow with the class

Stock nbgrader executes the notebook as it was released, with the same checks in it, one submission after another.
Processor time is that of the command and of all processes it has waited for.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from labkit.environment import cores  # noqa: E402

UNITS = ("08_scaling", "03_collectives")
GRADE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from autograder.cli import main; main()"
LESS_CPU, FASTER = 15.0, 1.4  # the bars
STOCK = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.Execute.timeout = 600
"""


@dataclass
class Cost:
    """The resources that a command took. cpu, wall: seconds. lines: what it said, and when. memory: (seconds since the
    start, bytes of all processes)."""

    cpu: float
    wall: float
    lines: list[tuple[float, str]]
    memory: list[tuple[float, int]]

    def graded(self) -> list[float]:
        """The time at which each submission was done."""
        return [when for when, line in self.lines if ": graded, " in line]

    def warm(self, workers: int) -> float:
        """Wall seconds for each submission once every worker has done its first."""
        done = self.graded()
        return (done[-1] - done[workers - 1]) / (len(done) - workers)


def measured(command: list[str], place: Path) -> Cost:
    """Run a command. Ends the program where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    environment["PYTHONUNBUFFERED"] = "1"
    lines: list[tuple[float, str]] = []
    memory: list[tuple[float, int]] = []
    over = threading.Event()
    process = subprocess.Popen(
        command,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def look() -> None:
        while not over.wait(3.0):
            memory.append((time.perf_counter() - start, own_bytes(process.pid)))

    watching = threading.Thread(target=look)
    watching.start()
    for line in process.stdout:
        lines.append((time.perf_counter() - start, line.rstrip()))
    status = process.wait()
    over.set()
    watching.join()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n" + "\n".join(line for _, line in lines[-40:]))
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, lines, memory)


def own_bytes(pid: int) -> int:
    """Memory that a process and its descendants hold; what several share counts once (proportional set size)."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0
    for process in family:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total


def solution(unit: str) -> Path:
    return next((ROOT / "solutions" / unit).glob("*.ipynb"))


def submission(unit: str, number: int) -> str:
    """A right submission; its text differs from all others, so that no result can be found instead of judged."""
    notebook = nbformat.read(solution(unit), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = cell.source.replace("### BEGIN SOLUTION", f"unused = {number}").replace(
                    "### END SOLUTION", ""
                )
    return nbformat.writes(notebook)


def own_course(place: Path, unit: str, students: int) -> Path:
    root = place / f"own_{unit}_{students}"
    release = [sys.executable, str(ROOT / "tools/course_release.py"), str(root), "--units", unit]
    subprocess.run(release, check=True, capture_output=True)
    hand_in(root, unit, students)
    return root


def stock_course(place: Path, unit: str, students: int) -> Path:
    root = place / f"stock_{unit}"
    (root / "source").mkdir(parents=True)
    ignored = shutil.ignore_patterns(*(path.name for path in solution(unit).parent.glob(f"{solution(unit).stem}.py")))
    shutil.copytree(solution(unit).parent, root / "source" / unit, ignore=ignored)
    (root / "nbgrader_config.py").write_text(STOCK)
    measured(["nbgrader", "generate_assignment", unit, "--create"], root)
    hand_in(root, unit, students)
    return root


def hand_in(root: Path, unit: str, students: int) -> None:
    for number in range(students):
        folder = root / "submitted" / f"student{number:04}" / unit
        folder.mkdir(parents=True)
        (folder / solution(unit).name).write_text(submission(unit, number))
        for path in solution(unit).parent.iterdir():  # scripts that a lesson starts
            if path.suffix == ".py" and path.stem != solution(unit).stem:
                shutil.copy(path, folder)


def grade(root: Path, unit: str, workers: int, weak: bool) -> Cost:
    """Grade a course. Ends the program where a right answer does not get full points."""
    command = [sys.executable, "-c", GRADE, str(ROOT), "grade", unit, "--course", str(root), "--workers", str(workers)]
    cost = measured(command + ["--allow-weak-isolation"] * weak, root)
    for _, line in cost.lines:
        if ": graded, " in line:
            points, whole = line.split(": graded, ")[1].split(", ")[0].split(" of ")
            if points != whole:
                raise SystemExit(f"a right answer did not get full points: {line}")
    return cost


def compare(place: Path, students: int, stock_students: int, weak: bool) -> tuple[Table, list[str]]:
    """The table, and which bars were missed."""
    table = Table(
        *(
            "unit",
            "grader",
            "submissions",
            "CPU s each",
            "less CPU",
            "wall s each",
            "less wall",
            "wall s each, once warm",
        ),
        title=f"{cores()} cores, load {os.getloadavg()[0]:.1f}; seconds per submission, start-up included "
        "but in the last column",
    )
    short = []
    for unit in UNITS:
        stock = measured(["nbgrader", "autograde", unit], stock_course(place, unit, stock_students))
        cpu, wall = stock.cpu / stock_students, stock.wall / stock_students
        table.add_row(unit, "stock nbgrader", str(stock_students), f"{cpu:.1f}", "", f"{wall:.1f}", "", "")
        handed_in, warm = own_course(place, unit, students), {}
        for workers in (1, 2):
            root = Path(shutil.copytree(handed_in, place / "graded"))
            own = grade(root, unit, workers, weak)
            shutil.rmtree(root)
            warm[workers] = own.warm(workers)
            table.add_row(*own_row(own, workers, students, cpu, wall))
            less = cpu / (own.cpu / students)
            if less < LESS_CPU:
                short.append(f"{unit}, {workers}: {less:.1f} times less processor time than stock, {LESS_CPU:g} wanted")
        faster = warm[1] / warm[2]
        table.add_row("", "a second worker", "", "", "", "", "", f"{faster:.2f} x", end_section=True)
        if faster < FASTER:
            short.append(f"{unit}: a second worker makes it {faster:.2f} times as fast, {FASTER:g} wanted")
    return table, short


def own_row(own: Cost, workers: int, students: int, stock_cpu: float, stock_wall: float) -> list[str]:
    """The cells of the table for `autograder grade`. stock_cpu, stock_wall: seconds of stock for a submission."""
    cpu, wall = own.cpu / students, own.wall / students
    name = f"autograder, {workers} worker{'s' * (workers > 1)}"
    less = [f"{cpu:.2f}", f"{stock_cpu / cpu:.1f} x", f"{wall:.2f}", f"{stock_wall / wall:.1f} x"]
    return ["", name, str(students), *less, f"{own.warm(workers):.2f}"]


def large_class(place: Path, unit: str, students: int, weak: bool) -> Table:
    """Time and memory at every tenth of a class."""
    cost = grade(own_course(place, unit, students), unit, cores(), weak)
    done = cost.graded()
    title = (
        f"{unit}, {students} submissions, {cores()} workers: {cost.wall:.0f} s, {cost.cpu / students:.2f} CPU s each"
    )
    table = Table("graded", "seconds", "seconds each in this tenth", "memory of all processes, MB", title=title)
    for part in range(1, 11):
        begin, end = students * (part - 1) // 10, students * part // 10
        since = done[begin - 1] if begin else 0.0
        then = [size for when, size in cost.memory if since <= when <= done[end - 1]]
        memory = f"{max(then) / 1e6:.0f}" if then else ""
        table.add_row(str(end), f"{done[end - 1]:.0f}", f"{(done[end - 1] - since) / max(end - begin, 1):.3f}", memory)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=20, help="submissions of each unit")
    parser.add_argument("--stock", type=int, metavar="N", help="stock nbgrader grades only the first N of them")
    parser.add_argument(
        "--class", dest="whole_class", type=int, metavar="N", help="a class of N instead of the comparison"
    )
    parser.add_argument("--unit", default=UNITS[0], help="of that class")
    parser.add_argument("--allow-weak-isolation", action="store_true")
    options = parser.parse_args()
    console = Console(width=130)
    os.environ.pop("NBGRADER_EXECUTION", None)
    with tempfile.TemporaryDirectory(prefix="bench-grading-") as place:
        if options.whole_class:
            console.print(large_class(Path(place), options.unit, options.whole_class, options.allow_weak_isolation))
            return
        stock = min(options.stock or options.students, options.students)
        table, short = compare(Path(place), options.students, stock, options.allow_weak_isolation)
    console.print(table)
    if stock < options.students:
        console.print(
            f"Stock nbgrader graded {stock} of the {options.students} submissions; they cost it the same, one by one."
        )
    for line in short:
        console.print(f"below the bar: {line}")
    sys.exit(1 if short else 0)


if __name__ == "__main__":
    main()
