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


_MACROS = re.compile(r"\\(?:[egx]?def|let|(?:re)?newcommand|providecommand|newenvironment)(?![A-Za-z])")
LONGEST = 2000  # characters of a formula's LaTeX
MOST = 4000  # elements of its MathML


def with_formulas(markdown: str) -> str:
    """The same text with LaTeX between dollars as MathML, or as code where that cannot be. Code stays as it is."""
    parts = _CODE.split(markdown)
    return "".join(part if part.startswith("`") else _MATH.sub(_as_mathml, part) for part in parts)


def _as_mathml(found: re.Match) -> str:
    tex, display = (found[1], "block") if found[1] else (found[2], "inline")
    # a space, so that what stood on both sides of a command is not joined to something that nobody has checked
    plain = re.sub(r"\\boxed(?![A-Za-z])", " ", " ".join(tex.split()))
    made = _converted(re.sub(r"\\dots(?![A-Za-z])", r"\\ldots ", plain), display)
    if not made:
        return f"`{tex.strip()}`"
    return f"\n\n<div class='formula'>{made}</div>\n\n" if display == "block" else made


def _converted(tex: str, display: str) -> str:
    """The formula as MathML; "" where it cannot be read, defines macros (ten of ten of ten ...), or would be more than
    a formula.

    What comes out is written here, from the tree that was looked at: what a reader of XML passes over, such as a
    comment, a reader of HTML may take for something else.
    """
    if len(tex) > LONGEST or _MACROS.search(tex):
        return ""
    try:
        tree = ElementTree.fromstring(convert(tex, display=display))
    except Exception:  # the library's errors have no common class
        return ""
    nodes = list(tree.iter())
    names = {_name(node) for node in nodes}
    attributes = {name for node in nodes for name in node.attrib}
    return _written(tree) if len(nodes) <= MOST and names <= _ELEMENTS and attributes <= _ATTRIBUTES else ""


def _name(node: ElementTree.Element) -> str:
    return str(node.tag).rpartition("}")[2]


def _written(node: ElementTree.Element) -> str:
    attributes = "".join(f' {name}="{_inert(value)}"' for name, value in node.attrib.items())
    namespace = ' xmlns="http://www.w3.org/1998/Math/MathML"' if _name(node) == "math" else ""
    inside = _inert(node.text) + "".join(_written(child) + _inert(child.tail) for child in node)
    return f"<{_name(node)}{namespace}{attributes}>{inside}</{_name(node)}>"


def _inert(text: str | None) -> str:
    """Text in which neither HTML nor Markdown finds anything of its own: all punctuation as numbers."""
    in_a_line = re.sub(r"[\r\n]+", " ", text or "")
    return re.sub(r"[^\w\s]|_", lambda sign: f"&#{ord(sign[0])};", in_a_line)
