"""Texts of a figure that are numbers: 0.95, 95 %, 1e-3, 10^-2, 2k. Part of `probes.figure.figure`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from probes.figure.page import Text

_SUFFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "µ": 1e-6, "μ": 1e-6, "m": 1e-3}


@dataclass
class Number:
    """A text that is a number. value with the comma read as a decimal one, and as one between thousands (equal if there
    is no comma)."""

    text: Text
    said: str
    decimal: float
    thousands: float
    power: bool = False  # written as a power, as the labels of logarithmic axes are
    percent: bool = False
    digit_unit: float = 0.0  # what one more in its last digit would be
    value: float = math.nan


_PLAIN = re.compile(r"([+-]?)(\d[\d.,]*|[.,]\d+)(?:[eE]([+-]?\d+))?\s*([kKMGBµμm]?)\s*(%?)")
_POWER = re.compile(r"([+-]?)(?:(\d+(?:[.,]\d+)?)[×x·*⋅])?(\d{1,2}|e)\^\{([+-]?\d+)\}\s*(%?)")


def number(text: Text) -> Number | None:
    """The number that a text is, or None. Reads 0.95, 0,95, 1,000, 95 %, -1, 1e-3, 10^-2 (raised), 3 x 10^4, 2k."""
    said = as_written(text)
    if match := _POWER.fullmatch(said):
        sign, factor, base, exponent, percent = match.groups()
        base = math.e if base == "e" else float(base)
        if len(exponent) > 4 or base < 2 or abs(int(exponent)) * math.log10(base) > 300:
            return None
        value = float((factor or "1").replace(",", ".")) * base ** int(exponent) * (-1 if sign == "-" else 1)
        return Number(text, said, value, value, power=not factor, percent=bool(percent))
    match = _PLAIN.fullmatch(said)
    if not match or len(said) > 24:
        return None
    sign, digits, exponent, suffix, percent = match.groups()
    scale = 10.0 ** int(exponent or 0) * _SUFFIX.get(suffix, 1.0) * (-1 if sign == "-" else 1)
    decimal, thousands = _decimal(digits), _thousands(digits)
    if decimal is None and thousands is None:
        return None
    places = len(re.split("[.,]", digits)[-1]) if re.search("[.,]", digits) else 0
    return Number(
        text,
        text.text,
        math.nan if decimal is None else decimal * scale,
        math.nan if thousands is None else thousands * scale,
        percent=bool(percent),
        digit_unit=abs(scale) * 10.0**-places,
    )


def as_written(text: Text) -> str:
    """The text with raised characters after a 10 as ^{...}, all kinds of minus as "-", without spaces."""
    out, raised = "", False
    for char, level in zip(text.chars, text.level, strict=True):
        if not char.text.strip():
            continue
        if (level > 0) != raised:
            out += "^{" if level > 0 else "}"
            raised = level > 0
        out += char.text
    out += "}" if raised else ""
    for minus in "−–‐‑‒﹣－":
        out = out.replace(minus, "-")
    return re.sub(r"\s|'|’|\u202f|\u00a0|\u2009", "", out).replace("％", "%")


def _decimal(digits: str) -> float | None:
    """With the comma as the decimal sign; a point is one as well, so there may be only one of both."""
    if digits.count(",") + digits.count(".") > 1:
        return None
    return float(digits.replace(",", "."))


def _thousands(digits: str) -> float | None:
    """With commas between thousands."""
    if "," not in digits:
        return _decimal(digits)
    if not re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", digits):
        return None
    return float(digits.replace(",", ""))


def comma_of(numbers: list[Number]) -> str:
    """The meaning of a comma in the numbers of a page: 0,95 can only be one thing, and so can 1,000,000.

    A 1.5 elsewhere proves nothing: who gives one axis decimal commas by hand may have left the other as it was.
    """
    decimal = any("," in n.said and math.isnan(n.thousands) for n in numbers)
    thousands = any("," in n.said and math.isnan(n.decimal) for n in numbers)
    return "" if decimal == thousands else "decimal" if decimal else "thousands"
