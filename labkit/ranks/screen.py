"""Shows what the ranks print while their cell runs."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from labkit.ranks.output import PrintedText, RankOutput, Remark, Rich, ShownOutput, arranged, as_html

_LIVE_AFTER = 0.5  # s after which output is shown while the cell still runs, and how often


def say(message: Remark) -> None:
    """A sentence to the student, on the screen."""
    from IPython.display import display

    display(message)


class Screen:
    """The output area of the cell: refreshed while the cell runs, put in its final order at the end."""

    def __init__(self, outputs: dict[int, RankOutput]):
        self.outputs = outputs
        self.handle = None
        self.shown = ""
        self.next = time.monotonic() + _LIVE_AFTER

    def refresh(self) -> None:
        """Show what there is so far; only in a notebook, where it can be replaced."""
        if time.monotonic() < self.next or not _in_notebook():
            return
        self.next = time.monotonic() + _LIVE_AFTER
        sections = self._text_only()
        text = as_html(sections) if sections else ""
        if text == self.shown:
            return
        self.shown = text
        from IPython.display import display

        if self.handle is None:
            self.handle = display(ShownOutput(tuple(sections)), display_id=True)
        else:
            self.handle.update(ShownOutput(tuple(sections)))

    def _text_only(self) -> list:
        sections = []
        for block in arranged(list(self.outputs.values())):
            if not isinstance(block, Rich):
                sections += block
        return [
            section if section.texts else replace(section, texts=(PrintedText("(figure)"),)) for section in sections
        ]

    def close(self) -> None:
        """The final order: text and figures of rank 0, of rank 1 ..."""
        from IPython.display import display

        for block in arranged(self.outputs.values()):
            if isinstance(block, Rich):
                display(block.data, metadata=block.metadata, raw=True)
            elif self.handle is not None:
                self.handle.update(ShownOutput(tuple(block)))
                self.handle = None
            else:
                display(ShownOutput(tuple(block)))
        if self.handle is not None:  # what was shown meanwhile has been cleared
            self.handle.update({"text/plain": ""}, raw=True)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None
