"""The pages that a student reads: a card for each part of the homework, and one page with all of them.

Everything that came from a student is escaped, and every picture was encoded by the grader; there is no script and
nothing is loaded.
"""

from __future__ import annotations

import base64
import binascii
import html
import math
import textwrap

import autograder.homework.registry as registry
from autograder.homework.rubric import LONGEST, ONE_CAUSE, LineResult, PartResult, Report, shown, shown_rows
from autograder.verdict import HINT_LEVELS
from labkit.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

_WIDTH = 110  # characters of a line of text
_COLOURS = {  # dark enough on white; the word beside them says the same
    "passed": "var(--jp-success-color1, #1b7837)",
    "partly": "var(--jp-warn-color0, #8a5a00)",
    "needs_person": "var(--jp-ui-font-color2, #636363)",
    "wrong": "var(--jp-error-color1, #b2182b)",
    "not_tried": "var(--jp-ui-font-color2, #636363)",
}
_WORDS = {"passed": "passed", "partly": "partly", "needs_person": "to read", "wrong": "wrong", "not_tried": "not yet"}
_CURVES = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CELL = "padding:3px 14px 3px 0;text-align:left;vertical-align:top"


# -- as text -----------------------------------------------------------------------------------------------------------


def part_text(result: PartResult, hints: str = "how") -> str:
    """The card of one part as text."""
    depth = HINT_LEVELS[hints]
    title, score = registry.title_of(result), _score(result)
    lines = [f"{title}{score:>{max(2, _WIDTH - len(title))}}"]
    said: set[str] = set()
    for finding in result.findings:
        earned = "-" if finding.earned is None else _points(finding.earned)
        points = f"{earned}/{_points(finding.line.points)}"
        lines.append(f"  {_WORDS[_verdict(finding)]:<9}{points:>9}  {finding.line.title}")
        for text, rows in _told(finding, depth, said):
            lines += ["                      " + line for line in [*textwrap.wrap(text, _WIDTH - 22), *rows]]
    for flag in result.flags if depth >= 1 else ():
        lines += textwrap.wrap(
            f"for a person: {shown(flag.sentence, LONGEST)}", _WIDTH, initial_indent="  ", subsequent_indent="    "
        )
    return "\n".join(lines)


def report_text(report: Report, hints: str = "how") -> str:
    """All cards as text, with what was taken for what."""
    head = f"{_points(report.score)} of {_points(report.max_score)} points"
    if report.open_points:
        head += f"; {_points(report.open_points)} wait for a person"
    parts = [part_text(part, hints) for part in report.parts]
    taken = ", ".join(f"{role}: {shown(name)}" for role, name in report.files.items() if not _usual(report, role, name))
    said = f"taken as {taken}" if taken else "" if report.files else "no file of the homework was found"
    files = textwrap.wrap(said, _WIDTH, subsequent_indent="  ")
    notes = [
        line for note in report.notes for line in textwrap.wrap(shown(note, LONGEST), _WIDTH, subsequent_indent="  ")
    ]
    return "\n".join([head, "", "\n\n".join(parts), "", *files, *notes])


def _usual(report: Report, role: str, name: str) -> bool:
    files = registry.get(report.assignment).files
    return name in (role, f"{role}.jsonl", files.usual.get(role), *files.also.get(role, ()))


def _verdict(finding: LineResult) -> str:
    """The verdict shown for a line: nobody is wrong who leaves a bonus alone."""
    return "not_tried" if finding.line.part == "bonus" and finding.verdict == "wrong" else finding.verdict


def _told(finding: LineResult, depth: int, said: set[str]) -> list[tuple[str, list[str]]]:
    """(a sentence below a line, what is said rank by rank below that); what was said above is not said again."""
    told = [(finding.sentence, finding.rows)] * (depth >= 1) + [(finding.teach, [])] * (depth >= 2)
    new = [(text, shown_rows(rows)) for text, rows in told if text and text not in said]
    said.update(text for text, _ in new)
    return new


def _score(result: PartResult) -> str:
    said = f"{_points(result.score)} of {_points(result.max_score)} points"
    waiting = sum(finding.line.points for finding in result.findings if finding.earned is None)
    return f"{said}; {_points(waiting)} wait for a person" if waiting else said


def _points(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


# -- as HTML -----------------------------------------------------------------------------------------------------------


def part_html(result: PartResult, hints: str = "how") -> str:
    """The card of one part as an HTML fragment, with styles of its own: it stands in notebooks, in feedback and on the
    page below."""
    depth = HINT_LEVELS[hints]
    title, score = html.escape(registry.title_of(result)), _score(result)
    said: set[str] = set()
    rows = "".join(_row(finding, depth, said) for finding in result.findings)
    flags = _flags(result) if depth >= 1 else ""
    measured = _beside(result) if depth >= 1 else ""
    drawn = _overlays(result.facts) if depth >= 1 else ""
    colour = _COLOURS[_of_all(result)]
    return _sendable(
        f'<div role="group" aria-label="{title}: {score}" style="border:1px solid #bbb;border-left:5px solid {colour};'
        f'border-radius:3px;padding:8px 12px;max-width:62em;font-size:13px;line-height:1.45;margin:0 0 14px">'
        f'<div style="display:flex;justify-content:space-between;gap:12px;margin-bottom:4px">'
        f'<span style="font-weight:600">{title}</span><span style="color:{colour};font-weight:600">{score}</span></div>'
        f'<table style="border-collapse:collapse;border:none;margin:0;width:100%;table-layout:auto;font-size:13px">'
        '<colgroup><col style="width:5em"><col'
        f' style="width:5.5em"><col></colgroup>{rows}</table>{flags}{measured}{drawn}</div>'
    )


def render(report: Report, hints: str = "how") -> str:
    """One HTML page with everything."""
    from markupsafe import Markup

    import autograder.pages as pages

    cards = [Markup(part_html(part, hints)) for part in report.parts]
    files = [(role, shown(name)) for role, name in report.files.items()]
    notes = [shown(note, LONGEST) for note in report.notes]
    return pages.page(
        "homework.html",
        title=registry.get(report.assignment).title,
        report=report,
        cards=cards,
        files=files,
        notes=notes,
        points=_points,
    )


def _of_all(result: PartResult) -> str:
    verdicts = {_verdict(finding) for finding in result.findings}
    if len(verdicts) == 1 or verdicts == {"passed", "needs_person"}:
        return "needs_person" if "needs_person" in verdicts else next(iter(verdicts))
    return "partly" if result.score else "wrong"


def _row(finding: LineResult, depth: int, said: set[str]) -> str:
    colour = _COLOURS[_verdict(finding)]
    earned = "&ndash;" if finding.earned is None else _points(finding.earned)
    told = "".join(
        f'<div style="margin:1px 0 3px;opacity:0.85">{_coded(text)}</div>{_ranks(rows)}'
        for text, rows in _told(finding, depth, said)
    )
    name = ""
    if finding.diagnosis and depth >= 1:
        mistake = html.escape(shown(finding.diagnosis.replace("_", " ")))
        name = f' <span style="opacity:0.6;font-size:12px">{mistake}</span>'
    return (
        f'<tr style="background:none;border-top:1px solid rgba(127,127,127,0.25)">'
        f'<td style="{_CELL};color:{colour};font-weight:600;white-space:nowrap">{_WORDS[_verdict(finding)]}</td>'
        f'<td style="{_CELL};text-align:right;white-space:nowrap">{earned} / {_points(finding.line.points)}</td>'
        f'<td style="{_CELL};padding-right:0;white-space:normal">{_coded(finding.line.title)}{name}{told}</td></tr>'
    )


def _ranks(rows: list[str]) -> str:
    """The rows of all ranks as HTML, with aligned columns."""
    style = "margin:1px 0 3px;padding:3px 8px;white-space:pre-wrap;font-size:12px;background:rgba(127,127,127,0.10)"
    return f'<pre style="{style}">{html.escape(chr(10).join(rows))}</pre>' if rows else ""


def _flags(result: PartResult) -> str:
    if not result.flags:
        return ""
    free = "" if any(flag.kind == ONE_CAUSE for flag in result.flags) else " It has cost no points."
    told = "".join(f"<li>{_coded(flag.sentence)}</li>" for flag in result.flags[:20])
    return (
        '<div style="margin-top:8px;padding:6px 10px;background:rgba(127,127,127,0.10)">'
        f"<b>A person will look at this.</b>{free}"
        f'<ul style="margin:2px 0 0;padding-left:1.4em">{told}</ul></div>'
    )


def _beside(result: PartResult) -> str:
    return registry.get(result.assignment).beside(result)


# -- plots with what was read from them --------------------------------------------------------------------------------


def _overlays(facts: dict) -> str:
    made = "".join(_overlay(name, one) for name, one in sorted(facts.get("overlays", {}).items(), key=_by_size))
    if not made:
        return ""
    return (
        '<div style="margin-top:8px;opacity:0.75">What was read from your figures, drawn over them:</div>'
        '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22em,100%),1fr));gap:10px'
        f' 16px">{made}</div>'
    )


def _by_size(item: tuple[str, dict]) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, item[0]))
    return int(digits or 0), item[0]


def _overlay(name: str, one: dict) -> str:
    """The faded page as a picture, the curves over it as lines, their names below."""
    try:
        width, height, png = int(one["width"]), int(one["height"]), base64.b64decode(one["png"], validate=True)
        curves = [
            (str(c["name"]), int(c["count"]), [(float(x), float(y)) for x, y in c["points"]]) for c in one["curves"]
        ]
    except (KeyError, TypeError, ValueError, binascii.Error):
        return ""
    if not png.startswith(b"\x89PNG"):
        return ""
    picture = (
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{base64.b64encode(png).decode()}"/>'
    )
    lines = "".join(_curve(k, points) for k, (_, _, points) in enumerate(curves))
    lines += _names([points[-1] for _, _, points in curves if points], width, height)
    keys = " ".join(_key(k, name, count) for k, (name, count, _) in enumerate(curves))
    alt = html.escape(shown(one.get("alt", name), 300))
    return (
        f'<figure style="margin:4px 0;max-width:36em;min-width:0"><svg viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{alt}" '
        'style="display:block;width:100%;height:auto;background:#fff;border:1px solid'
        f' rgba(127,127,127,0.4)">{picture}{lines}</svg>'
        f'<figcaption style="font-size:12px"><code>{html.escape(shown(name))}</code>:'
        f" {keys or 'no curve was read'}</figcaption></figure>"
    )


def _key(k: int, name: str, count: int) -> str:
    letter = f'<b style="color:{_dark(k)};background:#fff;padding:0 3px;border-radius:3px">{_letter(k)}</b>'
    return (
        f'<span style="display:inline-block;margin-right:1em">{letter} {html.escape(shown(name))}, {count}'
        " points</span>"
    )


def _curve(k: int, points: list[tuple[float, float]]) -> str:
    """A dashed line, with a ring at each point where there are not too many."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    rings = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6"/>' for x, y in points) if len(points) <= 60 else ""
    return (
        f'<g fill="none" stroke="{_CURVES[k % len(_CURVES)]}" stroke-width="2.5">'
        f'<polyline points="{path}" stroke-dasharray="7 4"/>{rings}</g>'
    )


def _names(ends: list[tuple[float, float]], width: int, height: int) -> str:
    """The letter of each curve beside its last point, letters that would overlap moved apart."""
    made, above = "", -math.inf
    for k in sorted(range(len(ends)), key=lambda k: ends[k][1]):
        x, y = min(max(ends[k][0] + 11, 4), width - 18), min(max(ends[k][1] + 7, above + 21, 20), height - 4)
        above = y
        made += (
            f'<text x="{x:.1f}" y="{y:.1f}" style="font:bold 22px sans-serif;fill:{_dark(k)};'
            f'paint-order:stroke;stroke:#fff;stroke-width:5px">{_letter(k)}</text>'
        )
    return made


def _letter(k: int) -> str:
    return _LETTERS[k % len(_LETTERS)]


def _dark(k: int) -> str:
    colour = _CURVES[k % len(_CURVES)]
    return "#" + "".join(f"{round(0.7 * int(colour[i : i + 2], 16)):02X}" for i in (1, 3, 5))


def _coded(text: str) -> str:
    """Escaped text in which `code` is set as code."""
    pieces = html.escape(shown(text, LONGEST)).split("`")
    if len(pieces) % 2 == 0:  # a backquote without its partner is just a character
        return html.escape(shown(text, LONGEST))
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))


def _sendable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
