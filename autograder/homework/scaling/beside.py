"""A table for the page: the measurements of the run logs beside those of the student's table."""

from __future__ import annotations

import html

from autograder.homework.rubric import LONGEST, shown


def measured(facts: dict) -> str:
    """The table, as HTML; "" without measurements."""
    rows = [row for row in facts.get("rows", []) if "images_per_second" in row]
    if not rows:
        return ""
    head = (
        "ranks",
        "images per second, from the log",
        "in the table",
        "speedup",
        "in the table",
        "efficiency",
        "in the table",
    )
    cell = "padding:2px 14px 2px 0;text-align:right;white-space:nowrap"
    body = "".join(_measured_row(row, cell) for row in rows)
    heads = "".join(
        f'<th style="{cell};white-space:normal;font-weight:400;opacity:0.75;vertical-align:bottom">{one}</th>'
        for one in head
    )
    machines = sorted(set(facts.get("hardware", {}).values()))
    where = (
        f'<div style="opacity:0.75">Measured on: {html.escape(shown("; ".join(map(str, machines)), LONGEST))}</div>'
        if machines
        else ""
    )
    return (
        '<div style="margin-top:8px;overflow-x:auto"><table'
        ' style="border-collapse:collapse;border:none;margin:0;font-size:12px">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        '<div style="opacity:0.75">From the logs, speedup and efficiency are ranges: with or without the first epoch,'
        " with or without "
        f"validation, by mean or by median. All of it is right.</div>{where}{_again(facts.get('rerun'))}"
    )


def _again(rerun: dict | None) -> str:
    """A sentence about a second run of the script here, or why there was none; "" if none was due."""
    if not rerun:
        return ""
    if rerun.get("done"):
        said = (
            f"Run again here on 2 ranks: a speedup of {_span(*rerun['found'])}; the logs show"
            f" {_span(*rerun['claimed'])}."
        )
    else:
        said = f"Not run again here: {rerun.get('why', '')}"
    return f'<div style="opacity:0.75">{html.escape(shown(said, LONGEST))}</div>'


def _measured_row(row: dict, cell: str) -> str:
    claimed = row.get("claimed", {})
    rate, half = row["images_per_second"]
    cells = [
        f"{row['ranks']}",
        f"{rate:,.0f} &plusmn; {half:,.0f}" if rate >= 100 else f"{rate:.3g} &plusmn; {half:.2g}",
        _claim(claimed.get("images_per_second"), ",.0f"),
        _span(*row["speedup"]),
        _claim(claimed.get("speedup"), ".3g"),
        _span(*row["efficiency"]),
        _claim(claimed.get("efficiency"), ".3g"),
    ]
    return "<tr>" + "".join(f'<td style="{cell}">{one}</td>' for one in cells) + "</tr>"


def _claim(value: float | None, form: str) -> str:
    return "&ndash;" if value is None else f"{value:{form if abs(value) >= 100 else '.3g'}}"


def _span(low: float, high: float) -> str:
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
