"""The command behind `make site`."""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

from autograder import content
from tools.site import audit, play
from tools.site.finish import finish
from tools.site.sources import tree

TO = content.ENGINE / "build" / "site"
SETTINGS = {
    "author": "",
    "copyright": "code: BSD 3-Clause, text and figures: CC BY 4.0",
    "extensions": ["myst_nb", "tools.site.extension"],
    "html_theme": "sphinx_book_theme",
    "html_math_renderer": "mathml",
    "html_context": {"default_mode": "auto"},
    "html_favicon": "favicon.svg",
    "html_static_path": ["_static"],
    "html_show_sourcelink": False,
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_sphinx": False,
    "html_permalinks_icon": "#",
    "language": "en",
    "myst_enable_extensions": ["colon_fence", "deflist", "dollarmath"],
    "myst_heading_anchors": 4,
    "myst_heading_slug_func": "tools.site.text.slug",
    "nb_execution_mode": "off",
    "nb_ipywidgets_js": {},
    "nb_merge_streams": True,
    "html_theme_options": {
        "use_download_button": False,
        "home_page_in_toc": True,
        "show_toc_level": 2,
        "navigation_with_keys": False,
        "pygments_light_style": "a11y-high-contrast-light",
        "pygments_dark_style": "a11y-high-contrast-dark",
    },
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make site", description=__doc__)
    parser.add_argument("units", nargs="*", help="only these units and homeworks (default: all)")
    parser.add_argument("--to", type=Path, default=TO, help="the folder of the site (default: build/site)")
    parser.add_argument("--without-solutions", action="store_true", help="for a class: stubs, and no solutions")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    try:
        said = build(options.to, solutions=not options.without_solutions, only=tuple(options.units))
    except FileExistsError as error:
        parser.exit(2, f"{error}\n")
    report = audit.audit(options.to)
    print(f"{report}\n{options.to.resolve()}/index.html, {time.monotonic() - start:.0f} s")
    if said:
        print(f"Sphinx had something to say:\n{said}", file=sys.stderr)
    return 1 if report.troubles or said else 0


def build(to: Path, solutions: bool = True, only: tuple[str, ...] = (), root: Path | None = None) -> str:
    """Builds the site into `to`, which is replaced whole; returns Sphinx's warnings. Raises FileExistsError where `to`
    holds something else than a site."""
    if to.exists() and any(to.iterdir()) and not (to / "searchindex.js").exists():
        raise FileExistsError(f"{to} holds something else than a site: name another folder, or empty it")
    with tempfile.TemporaryDirectory(prefix="site-") as folder:
        source, made = Path(folder) / "source", Path(folder) / "site"
        package = play.archive(root or content.root(), only)
        tree(root, solutions, only, playable=package is not None).write(source)
        said = _with_sphinx(source, made, content.course(root).title)
        finish(made)
        if package is not None:
            play.install(package, made)
        if to.exists():
            shutil.rmtree(to)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, to)
    return said


def _with_sphinx(source: Path, made: Path, title: str) -> str:
    """Runs Sphinx; returns its warnings."""
    from sphinx.application import Sphinx
    from sphinx.util.console import nocolor
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    nocolor()
    said = io.StringIO()
    with patch_docutils(), docutils_namespace(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # extensions of other houses, which Sphinx 11 will not take
        app = Sphinx(
            srcdir=source,
            confdir=None,
            outdir=made,
            doctreedir=made.with_name("doctrees"),
            buildername="html",
            confoverrides={**SETTINGS, "project": title, "html_title": title},
            status=None,
            warning=said,
            freshenv=True,
        )
        app.build()
    return said.getvalue().strip()
