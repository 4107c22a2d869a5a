"""A notebook for tests: a real kernel, driven cell by cell, whose output areas are kept as JupyterLab would show them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import start_new_kernel


@dataclass
class Cell:
    """What one cell left behind. number: the one in its brackets; elapsed: in s; error: its traceback, if it has one."""

    number: int
    elapsed: float
    outputs: list[dict[str, Any]] = field(default_factory=list)
    error: list[str] | None = None

    @property
    def text(self) -> str:
        """Everything as plain text, one output under the other."""
        return "\n".join(output.get("text/plain", "").rstrip("\n") for output in self.outputs)

    def count(self, kind: str) -> int:
        """How many outputs come in this MIME type."""
        return sum(kind in output for output in self.outputs)


class Notebook:
    def __init__(self, cwd: str | None = None):
        self.manager, self.client = start_new_kernel(kernel_name="python3", cwd=cwd, startup_timeout=60)

    def run(self, source: str, limit: float = 60, interrupt_after: float | None = None) -> Cell:
        """Run a cell to its end; interrupt_after: s after which the student presses stop."""
        outputs: list[dict[str, Any]] = []
        by_id: dict[str, dict[str, Any]] = {}
        error, number = None, 0
        began = time.monotonic()
        message_id = self.client.execute(source, store_history=True)
        while True:
            passed = time.monotonic() - began
            assert passed < limit, f"the cell did not end within {limit} s:\n{source}"
            if interrupt_after is not None and passed > interrupt_after:
                self.manager.interrupt_kernel()
                interrupt_after = None
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except Exception:  # queue.Empty: nothing came
                continue
            if message["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                outputs.append({"text/plain": content["text"]})
            elif kind in ("display_data", "execute_result"):
                outputs.append(dict(content["data"]))
                if display_id := content.get("transient", {}).get("display_id"):
                    by_id[display_id] = outputs[-1]
            elif kind == "update_display_data":
                shown = by_id[content["transient"]["display_id"]]
                shown.clear()
                shown.update(content["data"])
            elif kind == "execute_input":
                number = content["execution_count"]
            elif kind == "error":
                error = content["traceback"]
            elif kind == "status" and content["execution_state"] == "idle":
                break
        elapsed = time.monotonic() - began
        while self.client.get_shell_msg(timeout=10)["parent_header"].get("msg_id") != message_id:
            pass  # replies to what the client asked when it connected
        return Cell(number, elapsed, outputs, error)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()

    def kill(self) -> None:
        """SIGKILL: nothing in the kernel can tidy up."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
