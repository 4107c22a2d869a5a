"""The command `labkit`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from labkit import doctor as doctor_module

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    help="Tools of the distributed deep learning course.",
)


@app.callback()
def labkit() -> None:
    """Tools of the distributed deep learning course."""


@app.command()
def doctor(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Show what this machine can do for the course, and what to do about what it cannot."""
    checks = doctor_module.examine()
    if as_json:
        print(json.dumps([dataclasses.asdict(check) for check in checks], indent=1))
    else:
        doctor_module.show(checks)
    raise typer.Exit(1 if any(check.status == "broken" for check in checks) else 0)


@app.command("lint-pbs")
def lint_pbs(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Job scripts.", metavar="FILE...", show_default=False),
    ] = None,
    site: Annotated[
        str,
        typer.Option(
            help="The cluster's nodes as chunks, for example 560:ncpus=64:ngpus=4:mem=512gb."
        ),
    ] = "",
    resource: Annotated[
        list[str] | None,
        typer.Option(help="A resource that only your site has; may be given several times."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings, too.")] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Show what is looked for, and where it is known from.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Find in a PBS job script what qsub would refuse, what would wait for ever and what would not
    run as written.
    """
    from labkit.jobs import pbs_lint

    raise typer.Exit(pbs_lint.command(files or [], site, resource or [], strict, rules, as_json))


@app.command("submit", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def submit_command(
    context: typer.Context,
    script: str = typer.Argument(
        None, help="The job script; what follows it and is no option here goes to the script."
    ),
    nodes: int = typer.Option(
        None, metavar="N", help="How many nodes, instead of what the script says."
    ),
    ranks_per_node: int = typer.Option(None, metavar="R", help="How many ranks on each node."),
    time: str = typer.Option(
        None, metavar="T", help="The time limit: 30 (minutes), 1h30m, 00:10:00."
    ),
    scheduler: str = typer.Option(None, help="slurm or pbs; by default the one that is here."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Only show the command and what the scheduler would be asked for."
    ),
    detach: bool = typer.Option(False, "--detach", help="Submit, and do not follow the job."),
    follow: str = typer.Option(
        None, metavar="JOB", help="Take up a job that was submitted before."
    ),
    cancel: str = typer.Option(None, metavar="JOB", help="End a job."),
) -> None:
    """Submit a job script to Slurm or PBS, follow it, and show its report card."""
    from labkit.jobs import submit

    raise typer.Exit(
        submit.command(
            script,
            context.args,
            nodes,
            ranks_per_node,
            time,
            scheduler,
            dry_run,
            detach,
            follow,
            cancel,
        )
    )


@app.command("job-monitor")
def job_monitor_command(
    action: Annotated[str, typer.Argument(metavar="start")],
    folder: Annotated[
        Path, typer.Argument(help="The job's folder; the samples go to its subfolder monitor.")
    ],
    interval: float = typer.Option(1.0, help="Seconds between two samples."),
) -> None:
    """For job scripts: sample processors, memory and GPUs of the job's ranks on all of its nodes,
    until the job ends.
    """
    from labkit.jobs import monitor

    if action != "start":
        raise typer.BadParameter(f"{action!r}; there is only: labkit job-monitor start FOLDER")
    monitor.start(folder, interval)


@app.command("plan")
def plan_command(
    model: str = typer.Argument(help="A model by name, for example llama-3-405b."),
    machine: str = typer.Option(help="A machine by name, for example DGX-H100."),
    gpus: int = typer.Option(metavar="N", help="How many GPUs."),
    tokens: float = typer.Option(0, help="Of the whole training; 20 for each parameter."),
    sequence: int = typer.Option(0, metavar="N", help="Tokens of a sequence."),
    batch: int = typer.Option(0, metavar="N", help="Sequences of a step."),
    context: int = typer.Option(1, metavar="N", help="Let up to N ranks share a sequence."),
    efficiency: float = typer.Option(0.5, help="The share of the peak that is reached."),
    mesh: str = typer.Option("", help="This mesh alone: tensor=8,pipeline=16; the rest is data."),
    top: int = typer.Option(5, metavar="K", help="How many meshes to show."),
    pue: float = typer.Option(1.1, help="What the building adds to the power."),
    flash: bool = typer.Option(True, help="Flash attention, which keeps no scores."),
    gradient_bytes: int = typer.Option(4, metavar="2|4", help="Of a parameter's gradient."),
    reserve: float = typer.Option(5.4, metavar="GB", help="Memory that is kept for buffers."),
    overlap: str = typer.Option("", help="Hidden: usual, or gradients=160,gathers=1,tensor=4."),
    bits: int = typer.Option(16, metavar="16|8|4", help="Of the numbers that layers multiply."),
    message_bits: int = typer.Option(16, metavar="16|8", help="Of a number that is sent."),
    capacity: float = typer.Option(1.0, help="Of an expert: a multiple of its even share."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    explain: bool = typer.Option(False, "--explain", help="Say why the runner-up loses."),
) -> None:
    """Find the best meshes for a model on a number of GPUs: memory, time of a step by part, days."""
    from labkit.scale import planner_text as text

    asked = (model, machine, gpus, tokens, sequence, batch, context, efficiency, mesh, top, pue)
    try:
        more = (flash, gradient_bytes, 1e9 * reserve, overlap, bits, message_bits, capacity)
        answer = text.answer(text.Question(*asked, *more))
    except ValueError as error:
        typer.echo(f"labkit plan: {error}", err=True)
        raise typer.Exit(2) from None
    print((text.as_json if as_json else text.as_text)(answer, explain))
    raise typer.Exit(0 if answer.found.choices else 1)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
