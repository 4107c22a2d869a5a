"""Pages of the site with exercises that are written and judged in the reader's browser (docs/site.md)."""

from __future__ import annotations

import shutil
from pathlib import Path

from autograder import content
from autograder.browser.names import UNITS
from tools.site.play import bundle, pages, pyodide

__all__ = ["archive", "install"]


def archive(root: Path, only: tuple[str, ...]) -> Path | None:
    """The package of Python for the browser, for a site that has the units of the playable exercises; None for one
    that has not, and where the package cannot be had: a sentence says so then."""
    if not set(UNITS) <= set(content.course(root).units) or (only and not set(UNITS) <= set(only)):
        return None
    try:
        return pyodide.package()
    except pyodide.NoPyodide as error:
        print(f"The site is built without the pages to play on: {error}.")
        return None


def install(package: Path, made: Path) -> None:
    """Puts what the pages load beside them: Python, the course's code, the script, the worker and the style."""
    folder = made / pages.FOLDER
    pyodide.unpack(package, folder / "pyodide")
    bundle.bundle(folder / bundle.NAME)
    for name in pages.OWN:
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
