"""Readers of what `faulthandler` wrote about a rank: the Horovod operation it waits in.

Horovod has no hook for a recorder, and a compiled TensorFlow graph calls it without any Python between; but the stack
of a rank that waits shows the function of Horovod's (or the student's own line that runs the graph) at any time, in the
middle of C++ code, too.
"""

from __future__ import annotations

import os
import re

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (\S+)$', re.MULTILINE)
_OPERATION = re.compile(r"all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter|barrier|join|synchronize")


def frames(stack: str) -> list[tuple[str, int, str]]:
    """[(file, line, function), ...], innermost first."""
    return [(file, int(line), function) for file, line, function in _FRAME.findall(stack)]


def horovod_operation(stack: str) -> str:
    """The Horovod operation of a stack ("broadcast", "allreduce" ...), or "". "synchronize": of several tensors at
    once."""
    found = ""
    for file, _, function in frames(stack):
        match = _OPERATION.search(function) if f"{os.sep}horovod{os.sep}" in file else None
        if match and found in ("", "synchronize"):
            found = match.group()
    return found


def sends_an_object(stack: str) -> bool:
    """True if a rank waits in Horovod's `broadcast_object`."""
    return any(name == "broadcast_object" and f"{os.sep}horovod{os.sep}" in file for file, _, name in frames(stack))
