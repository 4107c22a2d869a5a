"""HTML pages for instructors: one file each, no script, nothing loaded from anywhere, all text of students escaped."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

LONGEST = 600  # characters of one hint or sentence


def page(template: str, **values) -> str:
    """The page of that template in this folder, as text that UTF-8 can hold."""
    text = _environment().get_template(template).render(**values)
    return text.encode("utf-8", "backslashreplace").decode()


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "percent": percent,
        "words": words,
        "span": span,
        "coded": coded,
        "wrappable": wrappable,
        "marked": marked,
        "mark": lambda row, column: _mark(row, column),
    }
    return made


def number(value: float | None) -> str:
    """The number with at most one decimal; a dash for None."""
    return "-" if value is None else f"{value:.1f}".removesuffix(".0")


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def words(name: str) -> str:
    return name.replace("_", " ")


def span(seconds: float) -> str:
    """The time in words: "3 h 20 min", "2 d 4 h"."""
    minutes = round(seconds / 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{max(minutes, 1)} min"


def coded(text: str) -> Markup:
    """Escaped text in which `code` is set as code."""
    text = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    pieces = str(escape(text)).split("`")
    if len(pieces) % 2 == 0:  # a backquote without its partner is just a character
        return escape(text)
    return Markup("".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces)))


def wrappable(name: str) -> Markup:
    """An identifier that may be broken behind its underscores."""
    return Markup("_<wbr>".join(str(escape(part)) for part in name.split("_")))


def marked(text: str, spans: Iterable[tuple[int, int]]) -> Markup:
    """Escaped text with the spans (start, end) marked; spans with nothing but blanks between them become one."""
    joined: list[list[int]] = []
    for start, end in spans:
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1][1] = end
        else:
            joined.append([start, end])
    done, parts = 0, []
    for start, end in joined:
        parts += [escape(text[done:start]), Markup("<mark>"), escape(text[start:end]), Markup("</mark>")]
        done = end
    return Markup("").join([*parts, escape(text[done:])])


def _mark(row, column) -> str:
    mark = (row.marks or {}).get((column.notebook, column.cell))
    return "" if mark is None else "to read" if mark.to_grade and column.written else number(mark.score)
