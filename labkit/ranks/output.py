"""The ranks' output put together for a reader: in rank order, labelled, the same text only once."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.palette import BLUE, VERMILLION

_LIMIT = 100_000  # characters kept of the beginning and of the end of what one rank prints
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass
class PrintedText:
    """Printed text."""

    text: str
    is_error: bool = False  # from stderr

    def key(self):
        return "text", self.text, self.is_error


@dataclass
class Rich:
    """A figure or another display that is more than text."""

    data: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    display_id: str | None = None

    def key(self):
        return "rich", tuple(sorted((kind, str(value)) for kind, value in self.data.items()))


@dataclass
class RankOutput:
    """The output of one rank in one cell, in the order it came."""

    rank: int
    items: list[PrintedText | Rich] = field(default_factory=list)
    left_out: int = 0  # characters
    _clear_next: bool = False

    def receive(self, message: dict[str, Any]) -> None:
        """Take one message of Jupyter's IOPub channel."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "clear_output":
            self._clear_next = content.get("wait", False)
            if not self._clear_next:
                self.items.clear()
            return
        if kind not in ("stream", "display_data", "execute_result", "update_display_data"):
            return
        if self._clear_next:
            self.items.clear()
            self._clear_next = False
        if kind == "stream":
            self._print(content["text"], content["name"] == "stderr")
            return
        data, display_id = dict(content["data"]), content.get("transient", {}).get("display_id")
        if set(data) <= {"text/plain"}:
            self._print(data.get("text/plain", "") + "\n", False)
            return
        if kind == "update_display_data":
            for item in self.items:
                if isinstance(item, Rich) and item.display_id == display_id:
                    item.data, item.metadata = data, content.get("metadata", {})
            return
        self.items.append(Rich(data, content.get("metadata", {}), display_id))

    def _print(self, text: str, is_error: bool) -> None:
        last = self.items[-1] if self.items else None
        if isinstance(last, PrintedText) and last.is_error == is_error:
            last.text += text
        else:
            last = PrintedText(text, is_error)
            self.items.append(last)
        if len(last.text) > 4 * _LIMIT:  # a rank that prints without end must not fill the notebook's memory
            self.left_out += len(last.text) - 2 * _LIMIT
            last.text = f"{last.text[:_LIMIT]}\n... {self.left_out} characters left out ...\n{last.text[-_LIMIT:]}"

    def shown(self) -> list[PrintedText | Rich]:
        """The items as they are shown: no colour codes, progress bars at their last state, no empty text."""
        result: list[PrintedText | Rich] = []
        for item in self.items:
            if isinstance(item, PrintedText):
                text = _settle(item.text)
                if len(text) > 2 * _LIMIT:
                    text = f"{text[:_LIMIT]}\n... {len(text) - 2 * _LIMIT} characters left out ...\n{text[-_LIMIT:]}"
                item = PrintedText(text, item.is_error)
                if not item.text.strip("\n"):
                    continue
            result.append(item)
        return result


def _settle(text: str) -> str:
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")).rstrip("\n")


def label(ranks: Sequence[int]) -> str:
    """ "rank 2", "ranks 0-3", "ranks 0, 2-3"."""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    shown = ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts)
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"


@dataclass(frozen=True)
class Section:
    """One label and what stands beside it."""

    label: str
    texts: tuple[PrintedText, ...]


def arranged(outputs: Iterable[RankOutput]) -> list[list[Section] | Rich]:
    """Blocks of labelled text, and between them the figures, each after the label of its ranks."""
    groups: dict[tuple, tuple[list[int], list[PrintedText | Rich]]] = {}
    for output in sorted(outputs, key=lambda output: output.rank):
        items = output.shown()
        if items:
            groups.setdefault(tuple(item.key() for item in items), ([], items))[0].append(output.rank)
    blocks: list[list[Section] | Rich] = []

    def add(section: Section) -> None:
        if blocks and isinstance(blocks[-1], list):
            blocks[-1].append(section)
        else:
            blocks.append([section])

    for ranks, items in groups.values():
        texts: list[PrintedText] = []
        named = False
        for item in items:
            if isinstance(item, PrintedText):
                texts.append(item)
                continue
            if texts or not named:
                add(Section(label(ranks), tuple(texts)))
                texts, named = [], True
            blocks.append(item)
        if texts:
            add(Section(label(ranks), tuple(texts)))
    return blocks


def as_text(sections: Sequence[Section]) -> str:
    """Labels in a column on the left, text on the right."""
    width = max(len(section.label) for section in sections)
    lines = []
    for section in sections:
        text = "\n".join(item.text for item in section.texts)
        for number, line in enumerate(text.split("\n")):
            lines.append(f"{section.label if number == 0 else '':{width}}  {line}".rstrip())
    return "\n".join(lines)


_GRID = "display:grid;grid-template-columns:max-content minmax(0,1fr);column-gap:1.2em;row-gap:.25em"
_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:13px"
_LABEL = f"{_MONO};color:{BLUE};font-weight:600;padding-top:1px;white-space:nowrap"
_PRE = (
    f"{_MONO};margin:0;padding:0 0 0 .8em;border:0;border-left:2px solid"
    " rgba(128,128,128,.35);white-space:pre-wrap;background:none"
)


def as_html(sections: Sequence[Section]) -> str:
    """The output of all ranks as HTML."""
    rows = []
    for section in sections:
        parts = [
            f'<span style="color:{VERMILLION}">{html.escape(item.text)}</span>'
            if item.is_error
            else html.escape(item.text)
            for item in section.texts
        ]
        text = "\n".join(parts)
        rows.append(f'<div style="{_LABEL}">{section.label}</div>')
        rows.append(f'<pre style="{_PRE}">{text}</pre>' if section.texts else "<div></div>")
    return f'<div style="{_GRID}">{"".join(rows)}</div>'


@dataclass(frozen=True)
class ShownOutput:
    """Sections as Jupyter displays them: HTML in a notebook, text in a terminal."""

    sections: tuple[Section, ...]

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": as_text(self.sections), "text/html": as_html(self.sections)}

    def __repr__(self) -> str:
        return as_text(self.sections)


class Code(str):
    """A part of a message whose lines and columns are kept."""


@dataclass(frozen=True)
class Remark:
    """The course's remark about a cell: a title, and below it sentences and code."""

    title: str
    parts: tuple[str, ...] = ()
    colour: str = VERMILLION

    def __repr__(self) -> str:
        lines = [self.title]
        for part in self.parts:
            lines += [f"  {line}".rstrip() for line in part.split("\n")] if isinstance(part, Code) else [part]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None):
        code = f"{_MONO};margin:.35em 0;padding:0;border:0;background:none;line-height:1.45;white-space:pre-wrap"
        rows = [f"<div><strong>{html.escape(self.title)}</strong></div>"]
        for part in self.parts:
            text = html.escape(part)
            rows.append(f'<pre style="{code}">{text}</pre>' if isinstance(part, Code) else f"<div>{text}</div>")
        style = f"border-left:4px solid {self.colour};padding:.3em .9em;margin:.3em 0;line-height:1.45"
        return {"text/plain": repr(self), "text/html": f'<div style="{style}">{"".join(rows)}</div>'}
