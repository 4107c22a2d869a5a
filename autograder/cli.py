"""`autograder`: try a candidate, list the exercises, run the bank, report on a class."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from autograder import answers as answer_files
from autograder import content, scaffold
from autograder.answers import BANK, BadBank
from autograder.exercise import PUBLIC_KEY
from autograder.grading import isolation
from autograder.judging import bank as bank_module
from autograder.judging import cards
from autograder.registry import UnknownExercise, all_exercises, find
from autograder.verdict import HINT_LEVELS
from labkit.launch.launcher import Launcher

app = typer.Typer(
    help="Checks exercises of the course.",
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
WriteTo = Annotated[
    Path | None, typer.Option(help="Judge nothing: write each answer into a file of its own below DIR.", metavar="DIR")
]
ReadFrom = Annotated[
    Path | None, typer.Option(help="Judge nothing: put the files below DIR into the bank.", metavar="DIR")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
NoJail = Annotated[bool, typer.Option("--no-jail", help="Run the file with your rights: it is your own.")]


@app.command("try")
def try_(
    unit: Annotated[str, typer.Argument(help="03_collectives, or just 03")],
    exercise: Annotated[str, typer.Argument(help="the name of the function")],
    file: Annotated[Path, typer.Argument(help="a Python file that defines it")],
    seed: Annotated[str, typer.Option(help="The key the cases' values come from.")] = PUBLIC_KEY,
    hints: Annotated[str, typer.Option(help=f"How much the card tells: {', '.join(HINT_LEVELS)}.")] = "how",
    as_json: AsJson = False,
    no_jail: NoJail = False,
) -> None:
    """Judge one candidate file under grading conditions, in the grader's jail. Exit status 0 when it passes, 1 when
    not, 2 when it cannot be tried."""
    try:
        found = find(exercise, unit)
    except UnknownExercise as error:
        _refuse(str(error))
    if not file.is_file():
        _refuse(f"there is no file {file}")
    if hints not in HINT_LEVELS:
        _refuse(f"--hints {hints}: choose one of {', '.join(HINT_LEVELS)}")
    try:
        file.read_text()
    except (UnicodeDecodeError, OSError) as error:
        _refuse(f"{file} cannot be read as text: {error}")
    if sentence := found.lacking:
        _refuse(sentence)
    with _launcher(jailed=not no_jail) as launcher:
        result = bank_module.try_file(found, file, launcher, key=seed)
    print(json.dumps(result.to_json(), indent=2) if as_json else cards.text_card(result, hints))
    raise typer.Exit(0 if result.verdict == "passed" else 1)


def _launcher(jailed: bool) -> Launcher:
    """A launcher for files that somebody else may have written. jailed: in as much of a jail as this machine has."""
    if not jailed:
        return Launcher()
    jail = isolation.spec(isolation.SLOTS - 1 - os.getpid() % 1000, weak=True)  # no grader's user is that far up
    if "namespaces" not in jail["protections"]:
        said = "This machine has no jail (`autograder doctor` says why): what the file does, it does with your rights."
        typer.echo(said, err=True)
    return Launcher(isolation=jail)


@app.command("exercises")
def exercises(as_json: AsJson = False) -> None:
    """List all exercises: unit, name, signature, points, levels, diagnoses."""
    rows = [
        {
            "unit": e.unit,
            "exercise": e.function,
            "title": e.title,
            "signature": e.signature,
            "points": e.points,
            "levels": [{"name": name, "points": points} for name, points in e.levels.items()],
            "diagnoses": sorted(e.diagnoses),
            "runtime": e.runtime,
        }
        for e in all_exercises()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table()
    for column in ("unit", "exercise", "points", "levels", "signature"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(
            row["unit"],
            row["exercise"],
            str(row["points"]),
            ", ".join(level["name"] for level in row["levels"]),
            row["signature"],
        )
    Console().print(table)


@app.command("doctor")
def doctor(as_json: AsJson = False) -> None:
    """Try what this machine enforces against dishonest submissions. Exit status 0 when nothing is missing, 1
    otherwise."""
    found = isolation.probe()
    if as_json:
        rows = [{"protection": i.name, "holds": i.holds, "says": i.sentence, "remedy": i.remedy} for i in found.items]
        print(json.dumps({"mode": found.mode, "protections": rows}, indent=2))
    else:
        table = Table("protection", "here", "what it means", show_lines=True)
        for item in found.items:
            table.add_row(
                item.name, "yes" if item.holds else "NO", item.sentence + ("" if item.holds else f"\n-> {item.remedy}")
            )
        Console().print(table)
        if found.missing:
            print(f"{len(found.missing)} of {len(found.items)} missing: grading asks for --allow-weak-isolation.")
        else:
            print("This machine enforces all of them: grade.")
    raise typer.Exit(1 if found.missing else 0)


@app.command("new")
def new(
    unit: Annotated[
        str, typer.Argument(help="03_collectives, just 03, or a unit that does not exist yet: 22_my_topic")
    ],
    function: Annotated[str, typer.Argument(help="the name of the function that students write")],
    kind: Annotated[str, typer.Option(help=f"How its cases run: {', '.join(scaffold.KINDS)}.")] = "torch",
    title: Annotated[str, typer.Option(help="The heading on the page and on the card.")] = "",
) -> None:
    """Write a new exercise that works: its cells, its class with one mistake, seven answers. Then change one thing
    after the other.
    """
    try:
        created = scaffold.create(unit, function, kind, title)
    except scaffold.CannotCreate as error:
        _refuse(str(error))
    for path, holds in created.files.items():
        print(f"{path.relative_to(content.root())}: {holds}")
    name, execute = f"{created.unit}/{function}", f"--execute {created.unit}"
    ours = content.root() == content.ENGINE  # the tests, and `make`, are of the engine's own course
    print(
        f"\nIt can be judged as it stands:\n  autograder bank {name}\n"
        f"After every change of its class or its answers:\n  autograder bank {name} --record\n"
        + (f"Its tests:\n  python -m pytest -n 0 tests/autograder/exercises -k {function}\n" if ours else "")
        + "Move its cells to where the page needs them; then the page:\n"
        + (f'  make notebooks OPTIONS="{execute}"' if ours else f"  python tools/build_notebooks.py {execute}")
    )


@app.command("bank")
def bank(
    which: Annotated[str, typer.Argument(help="UNIT or UNIT/EXERCISE; everything when left out")] = "",
    seed: Annotated[str, typer.Option(help="The key the cases' values come from.")] = PUBLIC_KEY,
    folder: Annotated[
        Path, typer.Option(help="A bank: UNIT/EXERCISE.py, or a file for each answer, UNIT/EXERCISE/right_NAME.py.")
    ] = BANK,
    write: WriteTo = None,
    read: ReadFrom = None,
    record: Annotated[bool, typer.Option("--record", help="Write down which levels each wrong answer passes.")] = False,
    as_json: AsJson = False,
    no_jail: NoJail = False,
) -> None:
    """Try every right and wrong answer; those of a --folder in the grader's jail. Exit status 1 when a right one fails,
    a wrong one passes or gets another diagnosis, or passes other levels than are recorded (in its head, under the
    public key)."""
    unit, _, exercise = which.partition("/")
    if record and seed != PUBLIC_KEY:
        _refuse("levels are recorded under the public key: leave --seed out")

    try:
        if which and not any(bank_module.answers(read or folder, unit or None, exercise or None)):
            known = ", ".join(bank_module.names(read or folder, unit))
            _refuse(f"the bank has no answers to {which}; there are: {known}")
        if write or read:
            return _move_answers(folder, unit, exercise, write, read)
        with _launcher(jailed=folder != BANK and not no_jail) as launcher:
            say = (lambda tried: None) if as_json else _say_of_an_answer
            tried = bank_module.run(launcher, folder, unit or None, exercise or None, seed, say)
    except (BadBank, UnknownExercise) as error:
        _refuse(str(error))
    if record:
        bank_module.record(tried, folder)
    report = bank_module.summary(tried)
    report["left_out"] = bank_module.left_out(folder, unit or None, exercise or None)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _say_of_a_bank(report)
    raise typer.Exit(1 if report["short"] or not (tried or report["left_out"]) else 0)


def _move_answers(folder: Path, unit: str, exercise: str, write: Path | None, read: Path | None) -> None:
    """Write the answers of the bank into files, or read files into the bank; say how many."""
    for name, function in answer_files.exercises(read or folder):
        if unit in ("", name, name.split("_")[0]) and exercise in ("", function):
            if write:
                count = answer_files.unfold(folder, name, function, write)
            else:
                count = answer_files.fold(read, name, function, folder)
            print(f"{name}/{function}: {count} answers")


def _say_of_an_answer(tried: bank_module.Tried) -> None:
    mark = "ok  " if tried.as_declared else "FAIL"
    print(f"{mark} {tried.answer.file}: {tried.result.verdict} {tried.result.diagnosis}".rstrip(), flush=True)


def _say_of_a_bank(report: dict) -> None:
    for short in report["short"]:
        print(f"\n{short['file']}\n  declared {short['declared']}\n  got      {short['got']}: {short['hint']}")
        if short["levels"]:
            print(f"  levels   {short['levels']}")
    print(
        f"\n{report['exercises']} exercise{'' if report['exercises'] == 1 else 's'}: "
        f"{report['right_accepted']} of {report['right']} right answers accepted, "
        f"{report['wrong_caught']} of {report['wrong']} wrong ones caught, "
        f"{report['wrong_named']} named as declared"
    )
    if report["left_out"]:
        print(report["left_out"])


@app.command("inputs")
def inputs(
    which: Annotated[str, typer.Argument(help="UNIT or UNIT/EXERCISE; everything when left out")] = "",
    draws: Annotated[int, typer.Option(help="Inputs that are drawn for each exercise.", min=1)] = 200,
    tell: Annotated[
        Path | None, typer.Option(help="Look for an input that tells this wrong answer from the right ones.")
    ] = None,
) -> None:
    """Draw inputs that like edges, and hold the bank's right answers against each other on them. Exit status 1 where
    they differ, or where no input tells the answer of --tell from a right one."""
    from autograder.inputs import search

    unit, _, exercise = which.partition("/")
    answers = [a for a in bank_module.answers(unit=unit or None, exercise=exercise or None) if a.right]
    exercises = {a.exercise.function: a.exercise for a in answers if not a.exercise.lacking}
    if not exercises or (tell and len(exercises) > 1):
        _refuse(f"{which or 'nothing'}: name one exercise that has answers, as UNIT/EXERCISE")
    status = 0
    with Launcher() as launcher:
        for name, found in exercises.items():
            right = [search.Program(f"{a.name}.py", a.source) for a in answers if a.exercise.function == name]
            if tell:
                told = search.telling(launcher, found, search.Program(tell.name, tell.read_text()), right[0], draws)
                print(search.shown(told.case) if told else f"{tell}: passes all of {draws} drawn inputs")
                status |= told is None
            else:
                agreed = search.agreement(launcher, found, right, draws)
                print(search.said_of(name, agreed), flush=True)
                status |= bool(agreed.differ)
    raise typer.Exit(status)


@app.command("mutate")
def mutate(
    which: Annotated[str, typer.Argument(help="UNIT or UNIT/EXERCISE; everything when left out")] = "",
    keys: Annotated[int, typer.Option(min=1, max=10, help="Under so many keys a mutant that lives is judged.")] = 10,
    answers: Annotated[int, typer.Option(min=0, help="Right answers of each exercise to be changed; 0: all.")] = 0,
    survivors: Annotated[
        bool,
        typer.Option("--survivors", help="Judge again only what lived before the exercise changed."),
    ] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Judge what is recorded as equivalent under all keys, too.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write down what lives as equivalent, for a person to give the reasons.")
    ] = False,
) -> None:
    """Change every right answer of the bank at one place after the other, and tell which changes no case notices, and
    which lines no case runs. Exit status 1 when there is such a hole that no record explains."""
    from autograder.holes import command, records, run

    unit, _, exercise = which.partition("/")
    options = run.Options(keys, answers, recorded, survivors)
    try:
        chosen = run.chosen(options, unit or None, exercise or None)
        if not chosen:
            _refuse(f"the bank has no answers to {which}; there are: {', '.join(bank_module.names(unit=unit))}")
        bad = command.bad_records(sorted({answer.exercise.unit for answer in chosen}), options)
        reports = []
        for report in run.run(chosen, options):
            reports.append(report)
            print("\n".join(command.lines_of(report)), flush=True)
        if record:
            print(f"{run.record(reports, options)} written into the units' holes.toml: give each its reason")
    except (BadBank, UnknownExercise, records.BadRecord) as error:
        _refuse(str(error))
    print("\n".join([*bad, command.summary(reports)]))
    raise typer.Exit(0 if not bad and all(report.is_whole for report in reports) else 1)


@app.command("homework")
def homework(
    folder: Annotated[Path, typer.Argument(help="the folder with script, run logs, table and figures")],
    which: Annotated[
        str,
        typer.Option("--homework", help="Its name, where folder and files do not tell: scaling_mnist or train_a_mesh."),
    ] = "",
    as_json: AsJson = False,
    page: Annotated[Path | None, typer.Option(help="Write the feedback page, one HTML file, too.")] = None,
    key: Annotated[str, typer.Option(help="The key that the port's data come from.")] = PUBLIC_KEY,
    nonce: Annotated[str, typer.Option(help="The code that was released to this student.")] = "",
    no_port: Annotated[
        bool, typer.Option("--no-port", help="Do not run the script: logs, table and figures only.")
    ] = False,
) -> None:
    """Judge a homework folder under grading conditions. Exit status 0 for all points, 1 when some are lost or wait
    for a person, 2 when there is no such folder, or nobody can tell which homework it is."""
    from autograder import homework as homeworks
    from autograder.homework import registry

    if not folder.is_dir():
        _refuse(f"there is no folder {folder}")
    try:
        found = registry.get(which) if which else registry.find([folder.resolve().name], folder=folder)
    except registry.UnknownHomework as unknown:
        _refuse(f"{unknown}" if which else f"{unknown} (--homework NAME)")
    protection = isolation.probe()
    if protection.missing:
        names = ", ".join(item.name for item in protection.missing)
        typer.echo(
            f"autograder: not enforced on this machine: {names} (`autograder doctor`): judge what you trust", err=True
        )
    parts = tuple(judging.parts[0] for judging in found.judges if not (judging.starts and no_port))
    jail = isolation.spec(weak=True)
    report = homeworks.judge(folder, assignment=found.name, key=key, nonce=nonce, parts=parts, jail=jail)
    print(json.dumps(report.to_json(pictures=False), indent=2) if as_json else homeworks.page.report_text(report))
    if page is not None:
        page.write_text(homeworks.page.render(report), encoding="utf-8")
    raise typer.Exit(0 if report.passed else 1)


Root = Annotated[Path, typer.Option("--course", help="The root of the class.")]
To = Annotated[Path | None, typer.Option("--to", help="The file to write; in the class's root when left out.")]


@app.command("report")
def report(
    assignment: Annotated[str, typer.Argument(help="as nbgrader knows it, for example 03_collectives")],
    course: Root = Path("."),
    to: To = None,
) -> None:
    """Write one HTML page about the class: what needs a person, mistakes, scores. Exit status 2 when there is nothing
    to report on."""
    from autograder.reports import report as reports

    made = _of_class(reports.report_of, course, assignment)
    path = to or course / f"report-{assignment}.html"
    reports.write_page(path, reports.render(made))
    print(f"{path}: {len(made.handed_in)} of {made.students} handed in, {len(made.todo)} need a person")


@app.command("copies")
def copies(
    assignment: Annotated[str, typer.Argument(help="as nbgrader knows it, for example 03_collectives")],
    course: Root = Path("."),
    to: To = None,
    enough: Annotated[
        float, typer.Option(help="Tokens alike beyond all known answers from which a pair is shown.")
    ] = 30,
) -> None:
    """Write one HTML page with answers of two students that are alike, for a person to read. It scores nobody."""
    from autograder.reports import copies as copying
    from autograder.reports.report import write_page

    made = _of_class(copying.compare_class, course, assignment, enough)
    path = to or course / f"copies-{assignment}.html"
    write_page(path, copying.render(made))
    alike = sum(len(same.students) for same in made.same)
    print(
        f"{path}: {len(made.pairs)} pairs to look at among {made.students} notebooks, "
        f"{alike} of them the same letter by letter"
    )


@app.command("records")
def records(
    assignment: Annotated[str, typer.Argument(help="as nbgrader knows it, for example 18_networks")],
    course: Root = Path("."),
    to: To = None,
) -> None:
    """Print whose answers take least, among those who want to be listed, and write a page that the class may see."""
    from autograder.reports import records as reports
    from autograder.reports.report import write_page

    made = _of_class(reports.records_of, course, assignment)
    path = to or course / f"records-{assignment}.html"
    write_page(path, reports.render(made))
    print(f"{reports.text(made)}\n\n{path}")
    for sentence in made.refused:
        typer.echo(f"autograder: {sentence}", err=True)


@app.command("times")
def times(
    files: Annotated[list[Path], typer.Argument(help="progress.json files that students have given you")],
    as_json: AsJson = False,
) -> None:
    """Print how long students have worked on each unit, beside the minutes that its page says: the median, and between
    which values half of them lie. Units of fewer than five students are left out."""
    from autograder.reports import times as reports

    found = reports.times_of(files)
    for path in found.unreadable:
        typer.echo(f"autograder: {path} is no progress.json that can be read; it is left out", err=True)
    if as_json:
        print(json.dumps([asdict(line) for line in found.lines], indent=2))
        return
    if not found.lines:
        _refuse(f"no unit has the times of {reports.FEWEST} students, in {len(files) - len(found.unreadable)} files")
    table = Table("unit", "the page says", "students", "median", "half of them", title="minutes of work")
    for line in found.lines:
        page = "" if line.page is None else str(line.page)
        table.add_row(line.unit, page, str(line.students), f"{line.median:g}", f"{line.low:g} to {line.high:g}")
    Console().print(table)


@app.command("nonces")
def nonces(
    assignment: Annotated[str, typer.Argument(help="as nbgrader knows it, for example scaling_mnist")],
    course: Root = Path("."),
) -> None:
    """Give each student of the gradebook a code of their own, which their run logs then bear. Prints the file with
    all codes."""
    from autograder.course import BadKey, Course
    from autograder.homework.registry import UnknownHomework
    from autograder.homework.registry import get as homework_called
    from autograder.reports.results import NoResults, notebooks, open_course, students

    try:
        found = open_course(course)
        notebooks(found, assignment)  # refuses a name that is none
        homework_called(assignment)
        if not students(found):
            _refuse("the gradebook knows no student yet; nbgrader db student import students.csv")
        given = Course(course.resolve()).give_nonces(assignment, students(found))
    except (NoResults, BadKey, UnknownHomework) as error:
        _refuse(str(error))
    print(
        f"{Course(course).nonce_file(assignment)}: {len(given)} codes. "
        "Each student saves theirs as nonce.txt beside the script."
    )


@app.command("extend")
def extend(
    assignment: Annotated[str, typer.Argument(help="as nbgrader knows it, for example 03_collectives")],
    student: Annotated[str, typer.Argument(help="the student's name in the gradebook")],
    days: Annotated[float, typer.Option(help="How many days later than the due date; 0 takes an extension back.")],
    course: Root = Path("."),
) -> None:
    """Let one student hand an assignment in later. It counts when the work is graded the next time."""
    from autograder.course import Course
    from autograder.reports.results import NoResults, notebooks, open_course, students

    try:
        found = open_course(course)
        notebooks(found, assignment)  # refuses a name that is none
        if student not in students(found):
            _refuse(f"the gradebook knows no student {student}; nbgrader db student list shows all")
        if not 0 <= days <= 365:
            _refuse(f"an extension has between 0 and 365 days, not {days:g}")
        Course(course.resolve()).extend(assignment, student, days)
    except NoResults as error:
        _refuse(str(error))
    print(f"{student}: {days:g} days for {assignment}. `autograder grade {assignment}` applies it.")


def _of_class(make, course: Path, assignment: str, *more):
    """The assignment that `make` makes; what a user can cause is said in one line."""
    from autograder.course import BadKey
    from autograder.reports.marks import UnknownAssignment
    from autograder.reports.results import NoResults, open_course

    try:
        return make(open_course(course), assignment, *more)
    except (NoResults, UnknownAssignment, BadKey) as error:
        _refuse(str(error))


@app.command("grade")
def grade(
    assignment: Annotated[str, typer.Argument(help="as it is called in submitted/, for example 03_collectives")],
    course: Annotated[Path, typer.Option(help="The root of the class, where nbgrader_config.py lies.")] = Path("."),
    workers: Annotated[int, typer.Option(min=0, help="How many submissions at a time; 0: one per core.")] = 0,
    student: Annotated[list[str] | None, typer.Option(help="Only this one; may be given several times.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Judge again what is unchanged, too.")] = False,
    allow_weak_isolation: Annotated[
        bool,
        typer.Option(
            "--allow-weak-isolation", help="Grade although this machine lacks protections (autograder doctor)."
        ),
    ] = False,
    engines: Annotated[str, typer.Option(help="Judge on the engines of the ipyparallel cluster of this profile.")] = "",
) -> None:
    """Grade all submissions of an assignment into nbgrader's gradebook. Given again, it does only what is missing.

    Exit status 0 when everything is graded, 1 when some submission could not be, 2 when grading could not begin or
    had to stop.
    """
    import sys

    sys.modules.setdefault("rfc3987_syntax", None)  # it compiles a grammar of web addresses: a second nobody needs here
    from autograder.grading.run import GradingOptions  # nbgrader takes another

    options = GradingOptions(assignment, workers, tuple(student or ()), force, allow_weak_isolation, engines)
    raise typer.Exit(_grade(course, options))


def _grade(course: Path, options) -> int:
    """Grade, and show how far it is. Returns the command's exit status."""
    import warnings

    from autograder.grading import progress
    from autograder.grading import run as grading
    from autograder.grading.store import Busy

    warnings.simplefilter("ignore")  # of nbgrader's about its own database
    console = Console()
    shown = progress.ProgressBar(console) if console.is_terminal else progress.ProgressLines(console)
    try:
        done = grading.grade(course, options, shown)
    except (grading.CannotGrade, Busy) as error:
        shown.close()
        _refuse(str(error))
    except KeyboardInterrupt:
        shown.close()
        typer.echo("autograder: stopped; what is graded is safe, and the same command goes on from there", err=True)
        return 130
    shown.close()
    console.print(progress.summary(done))
    return 1 if done.count("failed") else 0


def _refuse(message: str) -> None:
    typer.echo(f"autograder: {message}", err=True)
    raise typer.Exit(2)


@app.callback()
def _every_command() -> None:
    try:
        content.course()
    except content.NoCourse as error:
        _refuse(str(error))


def main() -> None:
    """The program `autograder`."""
    app()
