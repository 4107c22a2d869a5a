"""Formulas of Markdown as MathML: browsers set it by themselves, without a script of another host.

The text may be a student's: what comes out holds MathML's elements and nothing that a page would run or follow.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

_MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$\w])\$([^$\n](?:[^$]*?[^$\s])?)\$(?!\d)", re.DOTALL)
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_ELEMENTS = frozenset(
    "math mrow mi mn mo ms mtext mspace msub msup msubsup munder mover munderover mmultiscripts mprescripts none mfrac"
    " msqrt mroot mfenced mtable mtr mtd mpadded mphantom mstyle menclose".split()
)
_ATTRIBUTES = frozenset(
    "display displaystyle scriptlevel stretchy fence form separator mathvariant minsize maxsize lspace rspace width"
    " height depth linethickness accent accentunder columnalign rowalign columnspacing rowspacing movablelimits"
    " columnlines rowlines symmetric largeop notation mathsize mathcolor mathbackground open close separators".split()
)


def with_formulas(markdown: str) -> str:
    """The same text with LaTeX between dollars as MathML, or as code where that cannot be. Code stays as it is."""
    parts = _CODE.split(markdown)
    return "".join(part if part.startswith("`") else _MATH.sub(_as_mathml, part) for part in parts)


def _as_mathml(found: re.Match) -> str:
    tex, display = (found[1], "block") if found[1] else (found[2], "inline")
    made = _converted(" ".join(tex.split()).replace(r"\boxed", "").replace(r"\dots", r"\ldots"), display)
    if not made:
        return f"`{tex.strip()}`"
    made = re.sub(r"(?<=>)([^<]+)(?=<)", lambda text: text[1].replace("*", "&#42;").replace("_", "&#95;"), made)
    return f"\n\n<div class='formula'>{made}</div>\n\n" if display == "block" else made


def _converted(tex: str, display: str) -> str:
    """The formula as MathML; "" where it cannot be read, or would be more than a formula."""
    try:
        made = convert(tex, display=display)
        nodes = list(ElementTree.fromstring(made).iter())
    except Exception:  # the library's errors have no common class
        return ""
    names = {node.tag.rpartition("}")[2] for node in nodes}
    attributes = {name for node in nodes for name in node.attrib}
    return made if names <= _ELEMENTS and attributes <= _ATTRIBUTES else ""
