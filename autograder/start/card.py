"""The card at the end of a unit: points, and the mistakes that were made and mended, from work/progress.json."""

from __future__ import annotations

import html
from pathlib import Path

import autograder.pages as pages
import autograder.progress as progress
from autograder.personal import folder_of
from autograder.start.page import UnitRow, row_of
from autograder.start.units import all_units

EMPTY = "Here your own copy of this page shows your points, and the mistakes that you have made and mended."


def as_cell(unit: str) -> str:
    """The cell that shows it."""
    return f'from autograder import unit_card\n\nunit_card("{unit[:2]}")'


def unit_card(unit: str, start: Path | None = None) -> None:
    """Show how far you are in `unit` ("05"): points, tries, mistakes. start: the notebook's folder."""
    here = start or Path.cwd()
    found = next((one for one in all_units() if one.name[:2] == unit[:2] and not one.is_homework), None)
    if found is None or folder_of(here) is None:
        print(EMPTY)
        return
    progress.keep_time(found.name, here)
    kept = progress.kept_in(here)
    row, text = row_of(found, kept), ""
    entries = {done.task.name: kept.get(f"{found.name}/{done.task.name}") or {} for done in row.tasks}
    text = as_text(row, entries)
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        print(text)
    else:
        display({"text/html": as_html(row, entries), "text/plain": text}, raw=True)


def _said(row: UnitRow) -> str:
    """The points, the work left and the time of a unit: "12 of 17 points, 2 exercises left, 50 minutes of work"."""
    points = f"{pages.number(row.points)} of {pages.number(row.unit.points)} points"
    left = sum(done.state in ("", "begun") for done in row.tasks)
    done = f"{left} exercise{'' if left == 1 else 's'} left" if left else "all exercises passed"
    time = f", {row.minutes} minutes of work" if row.minutes > 1 else ""
    return f"{points}, {done}{time}" if row.unit.points else f"{done}{time}"


def _mistakes(entry: dict) -> list[tuple[str, str, bool]]:
    """(name, sentence, whether it is mended) of each."""
    return [(name, one["says"], bool(one["mended"])) for name, one in entry.get("mistakes", {}).items()]


def as_text(row: UnitRow, entries: dict[str, dict]) -> str:
    lines = [f"{row.unit.title}: {_said(row)}"]
    for done in row.tasks:
        if done.state == "written":
            lines.append(f"  {done.task.name}: in words, a person reads it")
            continue
        tries = f", {done.tries} tr{'y' if done.tries == 1 else 'ies'}" if done.tries else ""
        points = f"{pages.number(done.points)} of {pages.number(done.task.points)}" if done.task.points else "practice"
        lines.append(f"  {done.task.name}: {points}, {done.state or 'not begun'}{tries}")
        for name, says, mended in _mistakes(entries[done.task.name]):
            lines.append(f"      {'mended' if mended else 'open'}: {pages.words(name)}. {says}")
    return "\n".join(lines)


def as_html(row: UnitRow, entries: dict[str, dict]) -> str:
    cell = 'style="text-align:left;padding:2px 14px 2px 0;vertical-align:top;white-space:nowrap"'
    last = cell.replace("nowrap", "normal")
    rows = []
    for done in row.tasks:
        points = f"{pages.number(done.points)}/{pages.number(done.task.points)}" if done.task.points else ""
        state = "a person reads it" if done.state == "written" else done.state or "not begun"
        colour = "var(--jp-success-color1, #1b7837)" if done.state == "passed" else "inherit"
        tries = f"{done.tries} tr{'y' if done.tries == 1 else 'ies'}" if done.tries else ""
        found = "".join(
            f"<li>{'mended' if mended else '<strong>open</strong>'}: {html.escape(pages.words(name))}"
            f'<div style="font-size:12px">{pages.coded(says)}</div></li>'
            for name, says, mended in _mistakes(entries[done.task.name])
        )
        count = f"{found.count('<li>')} mistake{'' if found.count('<li>') == 1 else 's'}"
        folded = f"<details><summary>{count}</summary><ul>{found}</ul></details>" if found else ""
        rows.append(
            f"<tr><td {cell}><code>{html.escape(done.task.name)}</code></td><td {cell}>{points}</td>"
            f'<td {cell}><span style="color:{colour}">{state}</span></td><td {cell}>{tries}</td>'
            f"<td {last}>{folded}</td></tr>"
        )
    return (
        f'<div role="group" aria-label="{html.escape(row.unit.title)}" style="border:1px solid #bbb;'
        'border-radius:3px;padding:8px 12px;max-width:62em;font-size:13px">'
        f'<div style="font-weight:600;margin-bottom:4px">{html.escape(row.unit.title)}: {_said(row)}</div>'
        f'<table style="border-collapse:collapse;margin:0"><tbody>{"".join(rows)}</tbody></table></div>'
    )
