"""The command `labkit`."""

from __future__ import annotations

import dataclasses
import json

import typer

from labkit import doctor as doctor_module

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Tools of the distributed deep learning course.")


@app.callback()
def labkit() -> None:
    """Tools of the distributed deep learning course."""


@app.command()
def doctor(as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")) -> None:
    """Show what this machine can do for the course, and what to do about what it cannot."""
    findings = doctor_module.examine()
    if as_json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=1))
    else:
        doctor_module.show(findings)
    raise typer.Exit(1 if any(finding.status == "broken" for finding in findings) else 0)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
