"""Prose for slides: blocks of Markdown, first sentences."""

from __future__ import annotations

import re

SENTENCES, WORDS = 2, 45  # what a paragraph shows on a slide; all of it is in the speaker's notes
ITEM_WORDS = 28  # and an item of a list
PICTURE = 10.5  # lines of prose that a picture takes (course.css)
WIDTH = 86  # characters of prose in a line of a slide
_FENCE = re.compile(r"^```")
_END = re.compile(r"(?<=[a-z0-9)`*$”\"][.!?])\s+(?=[A-Z*`$“\"(\[])")
_NO_END = re.compile(r"\b(al|e\.g|i\.e|vs|Fig|pp|[A-Z])\.$")
_ASKS = re.compile(r"\*\*(Predict|Think first|Guess first|Before you run it|Look at|To think about)", re.IGNORECASE)
_TERM = re.compile(r"\*\*[^*]+\*\*")


def blocks(markdown: str) -> list[str]:
    """The blocks of a text, unchanged: paragraphs, headings, lists, tables, fenced code and formulas."""
    found: list[list[str]] = [[]]
    fenced = formula = False
    for line in markdown.splitlines():
        if _FENCE.match(line.strip()):
            fenced = not fenced
        if not fenced and line.count("$$") % 2:
            formula = not formula
        if not line.strip() and not fenced and not formula:
            found.append([])
        elif re.match(r"#{1,6} ", line) and not fenced:
            found += [[line], []]
        else:
            found[-1].append(line)
    return _lists_joined(["\n".join(lines) for lines in found if lines])


def _lists_joined(parts: list[str]) -> list[str]:
    """An indented block that follows a list belongs to it."""
    joined: list[str] = []
    for part in parts:
        if joined and part.startswith("  ") and is_list(joined[-1]):
            joined[-1] += "\n\n" + part
        else:
            joined.append(part)
    return joined


def is_list(block: str) -> bool:
    return bool(re.match(r"(?:[-*]|\d+\.) ", block))


def short(block: str) -> str:
    """The part of a block that stands on the slide: the first sentences of a paragraph, and of each item of a list.
    Headings, tables, code, formulas, pictures and what asks the class stay whole."""
    if re.match(r"(#|\||```|\$\$|!\[|<)", block.lstrip()) or _ASKS.search(block):
        return block
    if is_list(block):
        return "\n".join(_item(item) for item in re.split(r"\n(?=(?:[-*]|\d+\.) )", block))
    return _first(block, SENTENCES, WORDS)


def must(shown: str) -> bool:
    """True for what a slide should not lack: a term in bold with its sentence, a question to the class, a table, a
    formula, a list."""
    return bool(re.match(r"\||\$\$", shown.lstrip()) or is_list(shown) or _ASKS.search(shown) or _TERM.search(shown))


def defines(shown: str) -> bool:
    """True for a text with a term in bold, which is explained where it is bold."""
    return bool(_TERM.search(shown)) and not _ASKS.search(shown) and not is_list(shown)


def first_sentence(words: str) -> str:
    return _sentences(words)[0] if words.strip() else ""


def _item(item: str) -> str:
    """An item of a list with its first sentences."""
    mark, _, rest = item.partition(" ")
    if "?" in rest:  # a question, with what it asks about
        return item
    return f"{mark} {_first(rest, 3, ITEM_WORDS)}"


def _first(text: str, sentences: int, words: int) -> str:
    """The first sentences, as many as fit into so many words, one at least; a formula that follows is kept, and so is
    what defines a term: a sentence with a word in bold, and the one before it."""
    found = _sentences(text)
    first = 0
    while first < len(found) and (
        first == 0 or (first < sentences and len(" ".join(found[: first + 1]).split()) <= words)
    ):
        first += 1
    terms = [k for k in range(first, len(found)) if _TERM.search(found[k])]
    shown = " ".join(found[k] for k in range(len(found)) if k < first or k in terms or k + 1 in terms)
    if shown.count("$$") % 2:  # a formula that is cut in two is worse than a long slide
        return text
    return shown


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in _END.split(" ".join(text.split()) if "$$" not in text else text):
        if found and (_NO_END.search(found[-1]) or found[-1].count("$") % 2 or found[-1].count("`") % 2):
            found[-1] += " " + part
        else:
            found.append(part)
    return found


def in_parts(block: str, most: float) -> list[str]:
    """The block, or a long list as several of at most so many lines."""
    if not is_list(block) or height(block) <= most:
        return [block]
    parts: list[str] = []
    for item in re.split(r"\n(?=(?:[-*]|\d+\.) )", block):
        if parts and height(f"{parts[-1]}\n{item}") <= most:
            parts[-1] += f"\n{item}"
        else:
            parts.append(item)
    return parts


def height(block: str) -> float:
    """The number of lines, roughly, that a block takes on a slide."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
    if block.lstrip().startswith("!["):
        return PICTURE
    if block.startswith("```"):
        return block.count("\n") * 0.75 + 0.6
    if block.lstrip().startswith("|"):
        return sum(1.1 * max(1, -(-len(line) // 110)) for line in plain.splitlines()) + 0.5
    if block.startswith("#"):
        return 1.8
    lines = plain.splitlines() if is_list(block) else [" ".join(plain.split())]
    items = re.split(r"\n(?= *(?:[-*]|\d+\.) )", plain) if is_list(block) else lines
    return sum(-(-len(item) // WIDTH) + 0.25 for item in items) + 0.6 + 2 * block.count("$$") / 2
