"""`autograder`: try a candidate, list the exercises, run the bank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from autograder import bank as bank_module
from autograder import cards
from autograder.exercise import PUBLIC_KEY
from autograder.registry import UnknownExercise, all_exercises, find
from autograder.verdict import HINT_LEVELS
from labkit.launcher import Launcher

app = typer.Typer(
    help="Checks exercises of the course.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@app.command("try")
def try_(
    unit: Annotated[str, typer.Argument(help="03_collectives, or just 03")],
    exercise: Annotated[str, typer.Argument(help="the name of the function")],
    file: Annotated[Path, typer.Argument(help="a Python file that defines it")],
    seed: Annotated[str, typer.Option(help="The key the cases' values come from.")] = PUBLIC_KEY,
    hints: Annotated[str, typer.Option(help=f"How much the card tells: {', '.join(HINT_LEVELS)}.")] = "how",
    as_json: AsJson = False,
) -> None:
    """Judge one candidate file under grading conditions. Exit status 0 when it passes, 1 when not, 2 when it cannot be tried."""
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
    with Launcher() as launcher:
        result = bank_module.try_file(found, file, launcher, key=seed)
    print(json.dumps(result.to_json(), indent=2) if as_json else cards.text_card(result, hints))
    raise typer.Exit(0 if result.verdict == "passed" else 1)


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
    table = Table("unit", "exercise", "points", "levels", "signature")
    for row in rows:
        table.add_row(
            row["unit"],
            row["exercise"],
            str(row["points"]),
            ", ".join(level["name"] for level in row["levels"]),
            row["signature"],
        )
    Console().print(table)


@app.command("bank")
def bank(
    which: Annotated[str, typer.Argument(help="UNIT or UNIT/EXERCISE; everything when left out")] = "",
    seed: Annotated[str, typer.Option(help="The key the cases' values come from.")] = PUBLIC_KEY,
    folder: Annotated[
        Path, typer.Option(help="A bank laid out as UNIT/EXERCISE/right_*.py and wrong_*.py.")
    ] = bank_module.FOLDER,
    as_json: AsJson = False,
) -> None:
    """Try every right and wrong answer. Exit status 1 when a right one fails, a wrong one passes or gets another diagnosis."""
    unit, _, exercise = which.partition("/")

    def say(tried) -> None:
        if as_json:
            return
        mark = "ok  " if tried.as_declared else "FAIL"
        path = "/".join(tried.answer.path.parts[-3:])
        print(f"{mark} {path}: {tried.result.verdict} {tried.result.diagnosis}".rstrip(), flush=True)

    try:
        with Launcher() as launcher:
            tried = bank_module.run(launcher, folder, unit or None, exercise or None, seed, say)
    except (bank_module.BadBank, UnknownExercise) as error:
        _refuse(str(error))
    report = bank_module.summary(tried)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        for short in report["short"]:
            print(f"\n{short['file']}\n  declared {short['declared']}\n  got      {short['got']}: {short['hint']}")
        print(
            f"\n{report['exercises']} exercises: {report['right_accepted']} of {report['right']} right answers accepted, "
            f"{report['wrong_caught']} of {report['wrong']} wrong ones caught, {report['wrong_named']} named as declared"
        )
    raise typer.Exit(1 if report["short"] or not tried else 0)


def _refuse(message: str) -> None:
    typer.echo(f"autograder: {message}", err=True)
    raise typer.Exit(2)


def main() -> None:
    app()
