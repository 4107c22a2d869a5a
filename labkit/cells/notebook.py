"""The cells of the notebook this code runs in, and the source a function of it needs."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from labkit.cells.slicing import Cell, Chunk, defining_label, slice_cells


class NoSource(LookupError):
    """The source of a function cannot be found."""


def executed_cells() -> list[Cell]:
    """The cells of this kernel in the order they ran, labelled "cell 7" by the number in their brackets; [] outside a
    notebook."""
    shell = _shell()
    if shell is None or not hasattr(shell, "history_manager") or shell.history_manager is None:
        return []
    raw = shell.history_manager.input_hist_raw
    return [Cell(source, f"cell {k}") for k, source in enumerate(raw) if k and source.strip()]


def _shell():
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def cells_for(name: str, function=None) -> list[Cell]:
    """The cells (or the one file) in which `name` is defined. Raises NoSource."""
    cells = executed_cells()
    if defining_label(cells, name) is not None:
        return cells
    if function is not None:
        try:
            path = inspect.getsourcefile(function)
            if path is not None and Path(path).is_file():
                return [Cell(Path(path).read_text(), Path(path).name)]
            return [Cell(inspect.getsource(function), name)]
        except (OSError, TypeError):
            pass
    raise NoSource(
        f"the source of {name} is not to be found: define it in a cell of this notebook, with `def {name}(...)`, and"
        " run that cell"
    )


def chunks_of(function) -> list[Chunk]:
    """The statements `function` needs, itself included, wherever in the notebook they stand."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise NoSource("that is no function")
    return slice_cells(cells_for(name, function), [name])
