"""Outputs and text of students, made harmless for the page an instructor opens: no script, no markup, no image from
elsewhere."""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re

from nbformat import NotebookNode, from_dict

MAX_OUTPUT_TEXT = 20_000
MAX_IMAGE = 2 << 20
# What gives a formula an address, a style, an identity, an action, or brings in more of such commands.
_COMMANDS = (
    "href|url|require|style|class|cssId|html|data|unicode|includegraphics|mmlToken|enclose|bbox|toggle|texttip|mathtip|"
    "tooltip|begingroup|endgroup|let|def|newcommand|renewcommand|newenvironment|renewenvironment"
)
_REFERENCE = 100  # characters of a letter's number or name in HTML
# The formulas that nbconvert looks for: from each beginning to its end, or to the end of the text where it has none.
BEGINNING = re.compile(r"\\\\(?P<bracket>[\[(])|\\begin(?P<name>\{[a-z]*\*?\})")
END = re.compile(r"(?<!\\)\\\\(?P<bracket>[\])])|\\end(?P<name>\{[a-z]*\*?\})")


def text_of_source(text) -> str | None:
    if isinstance(text, list):
        return "".join(text) if all(isinstance(line, str) for line in text) else None
    return text if isinstance(text, str) else None


def clean(text: str) -> str:
    """Line ends as Python and Lab write them, no byte order mark, nothing that UTF-8 cannot hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    return text.encode("utf-8", "replace").decode("utf-8")


# -- outputs and text of students, made harmless ----------------------------------------------------------------------


def harmless_outputs(outputs) -> list[NotebookNode]:
    """Text and pixels only: a student's HTML, JavaScript or SVG must not run in the browser of the person who
    grades."""
    kept = []
    for output in outputs[:200] if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        if kind == "stream":
            name = output.get("name") if output.get("name") == "stderr" else "stdout"
            kept.append({"output_type": "stream", "name": name, "text": _short(output.get("text"))})
        elif kind in ("display_data", "execute_result", "pyout"):
            data = _harmless_data(output.get("data"))
            if data:
                kept.append({"output_type": "display_data", "data": data, "metadata": {}})
        elif kind == "error":
            lines = output.get("traceback")
            lines = [_short(line) for line in lines[:50]] if isinstance(lines, list) else []
            names = {name: _short(output.get(name))[:500] for name in ("ename", "evalue")}
            kept.append({"output_type": "error", **names, "traceback": lines})
    return [from_dict(output) for output in kept]


def _short(text) -> str:
    joined = text_of_source(text) or ""
    return clean(joined if len(joined) <= MAX_OUTPUT_TEXT else joined[:MAX_OUTPUT_TEXT] + "\n...")


def _harmless_data(data) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    kept = {}
    for kind, magic in (("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff")):
        pixels = _base64_of(data.get(kind))
        if pixels is not None and pixels.startswith(magic):
            kept[kind] = base64.b64encode(pixels).decode()
    if text_of_source(data.get("text/plain")):
        kept["text/plain"] = _short(data["text/plain"])
    return kept


def _base64_of(text) -> bytes | None:
    text = text_of_source(text)
    if not text or len(text) > 2 * MAX_IMAGE:
        return None
    with contextlib.suppress(binascii.Error, ValueError):
        return base64.b64decode(re.sub(r"\s", "", text), validate=True)
    return None


def harmless_markdown(text: str) -> str:
    """A student's text without raw HTML, without links and formulas that could run something when it is shown, and
    without pictures: a browser fetches them by itself, and whoever owns the address hears that the text is being
    graded, when, and from where.

    nbconvert passes them on as they are. A blank is put in, so that the text reads as it was written; a picture
    becomes a link. A formula that does not end is none.
    """
    text = _without_open_formulas(text)
    text = re.sub(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|\w+);?", _harmless_reference, text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    text = re.sub(r"!(?=\s*\[)", "! ", text)
    text = re.sub(r"\]\((?!https?://)", "] (", text)
    text = re.sub(r"\]:(?!\s*https?://)", "] :", text)
    return re.sub(rf"\\(?=(?:{_COMMANDS})(?![a-z]))", r"\\ ", text)


def _harmless_reference(found: re.Match[str]) -> str:
    """A letter's number or name in HTML as it is; with a blank in it where it stands for what formulas are written
    with."""
    if len(found[0]) > _REFERENCE:  # Python refuses a number of so many digits
        return f"& {found[0][1:]}"
    means = html.unescape(found[0])
    return found[0] if means in "<>&\"'" or not means.isascii() or means == found[0] else f"& {found[0][1:]}"


def _without_open_formulas(text: str) -> str:
    """The text, a blank in each beginning of a formula that has no end: for many of these nbconvert takes time in
    proportion to the square of their number."""
    last = {_kind(found): found.start() for found in END.finditer(text)}

    def checked(found: re.Match) -> str:
        mark = found["bracket"] or found["name"]
        ends = last.get(_kind(found), -1) > found.start()
        return found[0] if ends else f"{found[0].removesuffix(mark)} {mark}"

    return BEGINNING.sub(checked, text)


def _kind(found: re.Match) -> str:
    """The kind of formula that a beginning or an end is of."""
    return found["name"] or {"]": "[", ")": "("}.get(found["bracket"], found["bracket"])
