"""Figures that follow the theme of Lab: on a dark page a figure is dark, too, and not a white slab.

Figures are drawn for white paper. Where the reader has chosen a dark theme, light and dark change places in the
finished picture (`labkit.jupyter.dark`). A figure that shows photographs (arrays of colours) stays as it is.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib.figure import Figure

SETTINGS = Path("@jupyterlab", "apputils-extension", "themes.jupyterlab-settings")


def follow_theme(shell: InteractiveShell) -> None:
    """Figures of this shell's cells follow the theme from now on. Whatever draws them (matplotlib's inline backend
    comes with the first import of pyplot) is wrapped before it is used."""
    shell.events.register("pre_run_cell", lambda _: _wrap(shell))
    shell.events.register("post_execute", lambda: _wrap(shell))


def is_dark() -> bool:
    """True if the user's Lab has a dark theme, by its settings. False where nobody knows: no file, a damaged one, or a
    theme that follows the system's."""
    import json5
    from jupyter_core.paths import jupyter_config_dir

    folder = os.environ.get("JUPYTERLAB_SETTINGS_DIR") or Path(jupyter_config_dir(), "lab", "user-settings")
    try:
        settings = json5.loads(Path(folder, SETTINGS).read_text(encoding="utf-8"))
        return not settings.get("adaptive-theme") and "dark" in str(settings.get("theme", "")).lower()
    except (OSError, ValueError, AttributeError):
        return False


def _wrap(shell: InteractiveShell) -> None:
    printers = shell.display_formatter.formatters["image/png"].type_printers
    for kind, printer in list(printers.items()):
        if kind.__name__ == "Figure" and not hasattr(printer, "follows_theme"):
            printers[kind] = _themed(printer)


def _themed(printer: Callable) -> Callable:
    """A printer of figures as PNG that looks at the theme each time."""

    def themed(figure: Figure):
        picture = printer(figure)
        if not picture or not is_dark() or _shows_photographs(figure):
            return picture
        if isinstance(picture, tuple):  # metadata come with it: the size of one that has twice the pixels
            return _dark(picture[0]), *picture[1:]
        return _dark(picture)

    themed.follows_theme = True
    return themed


def _dark(picture: str) -> str:
    """A PNG in base64, darkened."""
    import numpy as np
    from PIL import Image

    from labkit.jupyter.dark import darkened

    dark = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        Image.fromarray(darkened(np.asarray(image.convert("RGBA")))).save(dark, "png", dpi=image.info.get("dpi"))
    return base64.b64encode(dark.getvalue()).decode()


def _shows_photographs(figure: Figure) -> bool:
    return any(image.get_array().ndim == 3 for axes in figure.axes for image in axes.images)
