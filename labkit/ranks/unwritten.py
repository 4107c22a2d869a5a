"""Cells that use a function which the student has not written yet: one calm line in place of a traceback.

The function raises `NotImplementedError("write this function")`, as it was handed out. The cells behind it miss the
names that this cell would have made; they are told the same. A cell counts as failed all the same, so that what comes
behind it is run or not as before.
"""

from __future__ import annotations

import re
import sys
import traceback

from labkit.cells.slicing import bound_names
from labkit.palette import BLUE
from labkit.ranks.output import Remark

STUB = "write this function"  # see `autograder.course.CODE_STUB`
# Of ranks, as another exception tells it.
_IN_TEXT = re.compile(rf"NotImplementedError: {STUB}[\s\S]*, in (\w+)\b[^\n]*$")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined|no (?:name|variable) (?:called )?'?(\w+)'?|has no (\w+)")
_missing: dict[str, str] = {}  # name -> the function because of which no cell has made it


def explained(kind: str, text: str, function: str, source: str) -> Remark | None:
    """The remark about an exception whose reason is an unwritten function, else None.

    kind, text: of the exception; function: in which it was raised; source: of the cell, whose names are missing from
    now on.
    """
    told = None
    if kind == "NotImplementedError" and text == STUB:
        told, why = function, f"This cell uses {function}, which is not written yet."
    elif found := _IN_TEXT.search(text):
        told = found[1]
        why = f"This cell uses {told}, which is not written yet."
    elif kind == "NameError" and (undefined := _UNDEFINED.search(text)):
        name = next(filter(None, undefined.groups()))
        told = _missing.get(name)
        why = f"This cell needs {name}, from a cell above that uses {told}, which is not written yet."
    if not told:
        return None
    for name in bound_names(source):
        _missing.setdefault(name, told)
    return Remark(why, ("Write it, run its cell and the cells from there on again.",), BLUE)


def install() -> None:
    """Have this kernel tell such exceptions so, whichever cell raises them."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        shell.set_custom_exc((NotImplementedError, NameError, RuntimeError), _show)


def _show(shell, kind, error, trace, tb_offset=None) -> None:
    from IPython.display import display

    frames = traceback.extract_tb(trace)
    cells = shell.history_manager.input_hist_raw
    message = explained(kind.__name__, str(error), frames[-1].name if frames else "", cells[-1] if cells else "")
    if message is not None:
        display(message)
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
