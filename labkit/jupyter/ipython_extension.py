"""`%%ranks` in a kernel that has run nothing yet: after a restart, say, when somebody runs the cell in the middle of
the page. And figures that follow the theme of Lab.

The set-up lets every kernel of the environment load this (etc/ipython/ipython_config.py). It must cost nothing: all it
does is to know the name. `labkit.ranks`, once imported, puts its own `%%ranks` in its place.

The kernel starts without the notebook's folder on sys.path (python -P), so that no file there stands in for a module of
Python's, of a package or of the course while it starts, which nobody has asked to run. Here it is put at the end: a
cell imports the modules beside the notebook.
"""

from __future__ import annotations

import sys

from labkit.jupyter.figures import follow_theme


def load_ipython_extension(shell) -> None:
    if sys.flags.safe_path:
        sys.path[:] = [*filter(None, sys.path), ""]
    follow_theme(shell)
    if "labkit.ranks" not in sys.modules:
        shell.register_magic_function(_not_yet, magic_kind="cell", magic_name="ranks")


def _not_yet(line: str, cell: str) -> None:
    """Run this cell on the ranks."""
    from IPython.display import display

    from labkit.ranks.output import Remark

    why = (
        "This kernel has just been started or restarted: no ranks are running, and nothing that you had run is known "
        "to it."
    )
    how = (
        'Run the cells above first, from the top (menu Run, "Run All Above Selected Cell"); '
        "one of them starts the ranks."
    )
    display(Remark("The cell did not run.", (why, how)))
