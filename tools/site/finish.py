"""Last touches to the built pages: what the theme leaves unnamed for those who hear a page instead of seeing it;
and what Sphinx leaves behind."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

TOUCHES = (
    # a name that hides the words that stand there
    (re.compile(r'(<summary)(?: class="[^"]*")? aria-label="Toggle hidden content"'), r"\1"),
    (re.compile(r'(<button class="btn search-button-field[^>]*?) title="Search" aria-label="Search"'), r"\1"),
    # a button without a word
    (re.compile(r"<summary>(<span class=\"toctree-toggle\")"), r'<summary aria-label="Pages below">\1'),
    # a part of the page without a name
    (re.compile(r'(<div id="pst-primary-sidebar")'), r'\1 role="region" aria-label="Sidebar"'),
    # a drawing or a figure, which scrolls on a narrow screen: with the keyboard, too
    (re.compile(r"<p>(?=<img [^>]*>(?:</img>)?\s*</p>)"), '<p tabindex="0">'),
    (
        re.compile(
            r'(<div class="cell_output docutils container")>(?=(?:(?!<div class="cell[ _]|</section>).)*?<img )', re.S
        ),
        r'\1 tabindex="0">',
    ),
    # an empty corner of a table that calls itself a header
    (re.compile(r'<th class="head[^"]*"><p></p></th>'), "<td></td>"),
)


LEFT_OVER = (".buildinfo", "objects.inv", "_sources", "_static/*webpack-macros.html")


def finish(folder: Path) -> None:
    """Touches every page, takes out what is for Sphinx alone, and says to Pages that this is a site as it is."""
    for path in (one for pattern in LEFT_OVER for one in folder.glob(pattern)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / ".nojekyll").touch()  # or Pages leaves out what begins with an underscore
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for pattern, by in TOUCHES:
            text = pattern.sub(by, text)
        path.write_text(text, encoding="utf-8")
