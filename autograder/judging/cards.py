"""The result card: what a student reads after a check, as plain text and as HTML."""

from __future__ import annotations

import html
import re
import textwrap

from autograder.judging.measured import record_lines
from autograder.verdict import HINT_LEVELS, CaseResult, LevelResult, Result

_WIDTH = 110
# dark enough on white, told apart without colour by the word beside them
_COLOURS = {"passed": "var(--jp-success-color1, #1b7837)", "missing": "var(--jp-ui-font-color2, #636363)"}
_BAD = "var(--jp-error-color1, #b2182b)"


def _points(n: int) -> str:
    return f"{n} point" + ("" if n == 1 else "s")


def _score(level: LevelResult) -> str:
    return f"{level.score}/{level.points}" if level.points else ""  # an exercise that is only practice


def _head(level: LevelResult) -> tuple[str, str]:
    """(what the level ran on, moved) of a level's line."""
    ran = [case for case in level.cases if case.world_size]
    ranks = sorted({case.world_size for case in ran if case.world_size > 1})
    if not ranks:
        return "", ""
    text = " and ".join([", ".join(map(str, ranks[:-1])), str(ranks[-1])] if len(ranks) > 1 else [str(ranks[0])])
    return f"{text} ranks", ran[-1].moved


def _explained(level: LevelResult) -> CaseResult | None:
    """The case of a failed level to tell about: the first with a named diagnosis, else the first."""
    failed = [case for case in level.cases if case.verdict != "passed"]
    named = [case for case in failed if case.diagnosis not in ("", "unrecognised")]
    return (named or failed or [None])[0]


def text_card(result: Result, hints: str = "how") -> str:
    """The card as text."""
    depth = HINT_LEVELS[hints]
    score = f"{result.score} of {_points(result.max_score)}" if result.max_score else result.verdict
    lines = [f"{result.exercise}{score:>{max(2, _WIDTH - len(result.exercise))}}"]
    if result.note:
        lines.append(f"  {result.note}")
    width = max(len(level.name) for level in result.levels)
    said: set = set()
    for level in result.levels:
        ran_on, _ = _head(level)
        lines.append(
            f"  {level.verdict.replace('_', ' '):<13}{level.name:<{width}}  {_score(level):<3}   {ran_on}".rstrip()
        )
        case = _explained(level)
        if case is not None:
            lines += ["      " + line for line in _story(case, depth, said)]
    moved = _moved(result)
    if moved and depth >= 1:
        lines.append(f"  moved        {moved}")
    for head, text in (line for record in result.records for line in record_lines(record) if depth >= 1):
        lines += textwrap.wrap(text, _WIDTH, initial_indent=f"  {head:<13}", subsequent_indent=" " * 17)
    return _sendable("\n".join(lines))


# Characters by which a student's text would steer a terminal, or stand in another direction than it is written.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


def _sendable(text: str) -> str:
    """Characters that steer a terminal are shown as their escapes, and so is half of a surrogate pair, which UTF-8
    cannot hold."""
    text = _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return text.encode("utf-8", "backslashreplace").decode()


def _told(case: CaseResult, said: set) -> bool:
    """True if this diagnosis was explained under an earlier level."""
    key = _what_is_said(case)
    known = case.diagnosis != "unrecognised" and key in said
    said.add(key)
    return known


_WHO = re.compile(r"^ranks? \d+(?:, \d+)*(?: and \d+)?: ")
_WHERE = re.compile(r"[^ ]+(?: \d+)?, line \d+")


def _what_is_said(case: CaseResult) -> tuple:
    """The same for two cases with one cause: one exception, or one hang at the same lines, on however many ranks."""
    if case.verdict == "raised" and case.differs:
        return case.diagnosis, _WHO.sub("", case.differs[-1])
    if case.verdict == "hung" and case.differs:
        return case.diagnosis, frozenset(_WHERE.findall("\n".join(case.differs)))
    return case.diagnosis, case.why


def _moved(result: Result) -> str:
    """The messages of one case, and that case: the one that the card explains, or the first."""
    cases = [result.decisive, *result.cases] if result.decisive else result.cases
    case = next((case for case in cases if case.moved and case.verdict in ("passed", "wrong")), None)
    return "" if case is None else f"{case.moved} ({case.says})" if case.says else case.moved


def _html_footer(result: Result) -> str:
    """The lines about messages and records: name and number of each record in a line, the rest below it."""
    moved, rows = _moved(result), []
    for head, text in (line for record in result.records for line in record_lines(record)):
        said = html.escape(f"{head}: {text}" if head else text)
        rows.append(f'<div style="padding-left:{0 if head else 1}em">{said}</div>')
    said = f'<div style="margin-top:4px;opacity:0.75">moved: {html.escape(moved)}</div>' if moved else ""
    return said + (f'<div style="margin-top:4px">{"".join(rows)}</div>' if rows else "")


def _story(case: CaseResult, depth: int, said: set) -> list[str]:
    if _told(case, said):
        return [f"{case.says}: the same" if case.says and depth >= 1 else "the same"]
    lines: list[str] = []
    if depth >= 1:
        if case.says:
            lines.append(case.says)
        lines += [part for line in _facts(case, depth) for part in line.split("\n")]
    lines += textwrap.wrap(_advice(case, depth), _WIDTH - 10)
    if depth >= 1 and case.printed:
        lines.append("printed:")
        lines += [f"  {line}" for line in _excerpt(case.printed)]
    return lines


def _facts(case: CaseResult, depth: int) -> list[str]:
    """The lines that differ, without what the advice says in the same words: an exception of which no line is known."""
    said = case.why.rstrip(".").casefold() if depth >= 2 else ""
    return [line for line in case.differs if not said or line.rstrip(".").casefold() != said]


def _advice(case: CaseResult, depth: int) -> str:
    return " ".join(part for part in [case.why] * (depth >= 2) + [case.how] * (depth >= 3) if part)


def _excerpt(printed: list[str], most: int = 8) -> list[str]:
    more = [f"... and {len(printed) - most} more lines"] if len(printed) > most else []
    return [line[:160] for line in printed[:most]] + more


def html_card(result: Result, hints: str = "how", figure: str = "") -> str:
    """The card as HTML. figure: SVG drawn underneath (trusted, made by labkit.timeline)."""
    depth = HINT_LEVELS[hints]
    colour = _COLOURS.get(result.verdict, _BAD)
    score = f"{result.score} of {_points(result.max_score)}" if result.max_score else result.verdict
    rows = []
    said: set = set()
    for level in result.levels:
        ran_on, _ = _head(level)
        tint = _COLOURS.get(level.verdict, _BAD)
        rows.append(
            f'<tr><td style="color:{tint};font-weight:600;text-align:left;padding:2px 14px 2px 0">'
            f"{level.verdict.replace('_', ' ')}</td>"
            f'<td style="text-align:left;padding:2px 14px 2px 0">{html.escape(level.name)}</td>'
            f'<td style="text-align:right;padding:2px 14px 2px 0">{_score(level)}</td>'
            f'<td style="text-align:left;padding:2px 0;opacity:0.75">{html.escape(ran_on)}</td></tr>'
        )
        case = _explained(level)
        if case is not None:
            rows.append(
                f'<tr><td></td><td colspan="3" style="text-align:left;padding:0 0 8px 0">'
                f"{_html_story(case, depth, said)}</td></tr>"
            )
    footer = _html_footer(result) if depth >= 1 else ""
    note = f'<div style="margin-bottom:4px">{html.escape(result.note)}</div>' if result.note else ""
    drawn = f'<div style="margin-top:6px;overflow-x:auto">{figure}</div>' if figure else ""
    return _sendable(
        f'<div role="group" aria-label="{html.escape(result.exercise)}: {html.escape(score)}" '
        f'style="border:1px solid #bbb;border-left:5px solid {colour};border-radius:3px;'
        'padding:8px 12px;max-width:62em;font-size:13px">'
        f'<div style="display:flex;justify-content:space-between;margin-bottom:4px">'
        f'<code style="font-weight:600">{html.escape(result.exercise)}</code>'
        f'<span style="color:{colour};font-weight:600">{score}</span></div>{note}'
        f'<table style="border-collapse:collapse;border:none;margin:0;width:100%;table-layout:auto">'
        f'<colgroup><col style="width:7em"><col><col style="width:4em"><col style="width:9em"></colgroup>'
        f"{''.join(rows)}</table>{footer}{drawn}</div>"
    )


def _html_story(case: CaseResult, depth: int, said: set) -> str:
    if _told(case, said):
        return html.escape(f"{case.says}: the same" if case.says and depth >= 1 else "the same")
    parts = []
    facts = ([case.says] if case.says else []) + _facts(case, depth)
    if depth >= 1 and facts:
        parts.append(_pre("\n".join(facts)))
    text = _advice(case, depth)
    if text:
        parts.append(f'<div style="margin:4px 0">{_with_code(text)}</div>')
    if depth >= 1 and case.printed:
        parts.append('<div style="opacity:0.75">printed:</div>' + _pre("\n".join(_excerpt(case.printed))))
    return "".join(parts)


def _pre(text: str) -> str:
    style = (
        "margin:2px 0;padding:4px "
        "8px;background:rgba(127,127,127,0.10);white-space:pre-wrap;font-size:12px;font-family:monospace"
    )
    return f'<pre style="{style}">{html.escape(text)}</pre>'


def _with_code(text: str) -> str:
    """Escaped text in which `code` is set as code."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))


def plain_card(name: str, points: float, max_points: float, verdict: str, said: list[str]) -> tuple[str, str]:
    """(HTML, text) of a card without levels: a test that an instructor wrote, or something that could not be judged."""
    colour = _COLOURS.get(verdict, _BAD)
    score = f"{points:g} of {max_points:g} point" + ("" if max_points == 1 else "s")
    lines = [_sendable(line) for line in said[:40]]
    text = "\n".join(
        [
            f"{name}{score:>{max(2, _WIDTH - len(name))}}",
            f"  {verdict.replace('_', ' ')}",
            *(f"      {line}" for line in lines),
        ]
    )
    shown = _pre("\n".join(lines)) if lines else ""
    return _sendable(
        f'<div role="group" aria-label="{html.escape(name)}: {score}" '
        f'style="border:1px solid #bbb;border-left:5px solid {colour};border-radius:3px;'
        'padding:8px 12px;max-width:62em;font-size:13px">'
        f'<div style="display:flex;justify-content:space-between;margin-bottom:4px">'
        f'<code style="font-weight:600">{html.escape(name)}</code>'
        f'<span style="color:{colour};font-weight:600">{verdict.replace("_", " ")}, {score}</span></div>{shown}</div>'
    ), text
