"""Writes the slides of a unit: one HTML file with reveal.js, its style, formulas and pictures in it.

    python -m tools.slides 05           build/slides/05_gradient_all_reduce.html
    python -m tools.slides all

reveal.js comes from the package sphinx-revealjs, which brings it as files; nothing of Sphinx is used, and no address of
another host is in what is written.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import mimetypes
import re
import sys
from pathlib import Path

import nbformat
from nbconvert.exporters import SlidesExporter

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks  # noqa: E402

from tools.slides.rules import slides_of  # noqa: E402

TEMPLATES = Path(__file__).resolve().parent / "templates"
BUILD = ROOT / "build" / "slides"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unit", help="05, or 05_gradient_all_reduce, or all")
    parser.add_argument("--to", type=Path, default=BUILD, help="the folder (default: build/slides)")
    options = parser.parse_args(arguments)
    known = build_notebooks.units(ROOT)
    chosen = [unit for unit in known if options.unit in ("all", unit, unit[:2])]
    if not chosen:
        print(f"slides: no unit {options.unit}. There are: {', '.join(known)}", file=sys.stderr)
        return 1
    options.to.mkdir(parents=True, exist_ok=True)
    for unit in chosen:
        path = options.to / f"{unit}.html"
        path.write_text(page(unit), encoding="utf-8")
        print(path.relative_to(ROOT) if ROOT in path.parents else path)
    return 0


def page(unit: str) -> str:
    """The slides of a unit as one HTML document."""
    source = build_notebooks.solved_of(ROOT, unit)
    exporter = SlidesExporter(
        template_name="course",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    html, _ = exporter.from_notebook_node(slides_of(nbformat.read(source, as_version=4)), {"course": files()})
    return with_pictures(html, source.parent)


def files() -> dict[str, str]:
    """reveal.js, its notes, and the styles, as text to be put into the page."""
    package = importlib.util.find_spec("sphinx_revealjs")
    if package is None:
        raise ModuleNotFoundError("sphinx-revealjs is not installed: python3 tools/bootstrap.py setup")
    reveal = Path(package.origin).parent / "_static" / "revealjs"
    scripts = {name: (reveal / path).read_text(encoding="utf-8") for name, path in _SCRIPTS.items()}
    return {**scripts, "style": (TEMPLATES / "course" / "course.css").read_text(encoding="utf-8")}


_SCRIPTS = {
    "reset": "dist/reset.css",
    "css": "dist/reveal.css",
    "reveal": "dist/reveal.js",
    "notes": "plugin/notes/notes.js",
}


def with_pictures(html: str, folder: Path) -> str:
    """The page with the files behind its <img> in it."""

    def inlined(found: re.Match) -> str:
        path = (folder / found[2]).resolve()
        if not path.is_file():
            return found[0]
        kind = mimetypes.guess_type(path.name)[0] or "image/png"
        return f"{found[1]}data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}{found[3]}"

    return re.sub(r'(<img[^>]*?\ssrc=")((?!data:)[^"]+)(")', inlined, html)


if __name__ == "__main__":
    sys.exit(main())
