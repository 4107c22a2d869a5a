"""The report on a job as text for a terminal and as HTML for a notebook or a page."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field

from labkit.jobs.advice import (
    Warn,
)
from labkit.palette import GREEN, GREY, ORANGE, VERMILLION

_WIDTH = 110


@dataclass
class JobReport:
    """The card. verdict: how it ended, in a few words. rows: (label, text). tail: the last lines of the output, where
    they explain it.

    exit_status: 0 if it is good, else that of the job, at least 1.
    """

    title: str
    verdict: str
    good: bool
    rows: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    exit_status: int = 0

    def __str__(self) -> str:
        return text_card(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": text_card(self), "text/html": html_card(self)}


# --- the card ---------------------------------------------------------------------------------------------------------


def text_card(report: JobReport) -> str:
    """The card as text."""
    lines = [f"{report.title}{report.verdict:>{max(2, _WIDTH - len(report.title))}}"]
    lines += [f"  {label:<13}{text}" for label, text in report.rows]
    for warning in report.warnings:
        wrapped = textwrap.wrap(
            f"{warning.says} {warning.do}".strip(), _WIDTH - 15, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"  {'warning' if number == 0 else '':<13}{line}" for number, line in enumerate(wrapped)]
    if report.tail:
        lines.append("  the last lines of the output")
        lines += [f"    {line[: _WIDTH - 4]}" for line in report.tail]
    return "\n".join(lines)


_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:12px"


def html_card(report: JobReport) -> str:
    """The card as HTML, in the style of the cards that checks draw."""
    colour = (ORANGE if report.warnings else GREEN) if report.good else VERMILLION
    cell = "text-align:left;padding:2px 14px 2px 0;vertical-align:top"
    rows = [
        f'<tr><td style="{cell};opacity:.7;white-space:nowrap">{html.escape(label)}</td><td'
        f' style="{cell}">{html.escape(text)}</td></tr>'
        for label, text in report.rows
    ]
    rows += [
        f'<tr><td style="{cell};color:{VERMILLION};font-weight:600">warning</td><td'
        f' style="{cell}">{html.escape(warning.says)}'
        f'<div style="opacity:.8">{html.escape(warning.do)}</div></td></tr>'
        for warning in report.warnings
    ]
    tail = ""
    if report.tail:
        text = html.escape("\n".join(report.tail))
        tail = (
            f'<div style="margin-top:6px;color:{GREY}">the last lines of the output</div>'
            f'<pre style="{_MONO};margin:2px 0 0;padding:0 0 0 .8em;border:0;border-left:2px solid'
            " rgba(128,128,128,.35);"
            f'white-space:pre-wrap;background:none">{text}</pre>'
        )
    return (
        f'<div role="group" aria-label="{html.escape(report.title)}: {html.escape(report.verdict)}" '
        f'style="border:1px solid #bbb;border-left:5px solid {colour};border-radius:3px;padding:8px'
        ' 12px;max-width:62em;font-size:13px">'
        f'<div style="display:flex;justify-content:space-between;margin-bottom:4px">'
        f'<code style="font-weight:600">{html.escape(report.title)}</code>'
        f'<span style="font-weight:600">{html.escape(report.verdict)}</span></div>'
        f'<table style="border-collapse:collapse;border:none;margin:0;width:100%;table-layout:auto">'
        f'<colgroup><col style="width:8em"><col></colgroup>{"".join(rows)}</table>{tail}</div>'
    )


def html_page(report: JobReport) -> str:
    """A page of its own with the card, for a browser."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(report.title)}</title>'
        f'<body style="font-family:system-ui,sans-serif;color:#1a1a1a;margin:2em">{html_card(report)}</body></html>\n'
    )
