"""The course's extension of Sphinx: formulas as MathML, which every browser sets without a script; alternative texts of
the figures that cells drew; a link from the first use of a term to the glossary; a unit's place in the course.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexer import inherit
from pygments.lexers import PythonLexer
from pygments.token import Keyword
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class CellLexer(PythonLexer):
    """A notebook's cell: Python, also behind a first line like `%%ranks`, and lines for the shell."""

    name, aliases = "Notebook cell", ["ipython3"]
    tokens = {"root": [(r"\A%%.*\n", Keyword), (r"^[ \t]*[!%](?!=).*\n", Keyword), inherit]}


NO_TERMS = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.math_block, nodes.raw)
TEXT = (nodes.paragraph,)


def mathml(tex: str, display: str) -> str:
    """A formula as MathML; its TeX is kept for those who copy it, and for screen readers that prefer it."""
    text = convert(tex.strip(), display=display)
    alternative = tex.strip().replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<math ", f'<math alttext="{alternative}" ', 1)


def inline_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{mathml(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def block_math(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math" tabindex="0" role="group">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def read_settings(app: Sphinx) -> None:
    app.site = json.loads((Path(app.srcdir) / "site.json").read_text(encoding="utf-8"))


def name_figures(app: Sphinx, doctree: nodes.document) -> None:
    """Sets the alternative texts of the pictures that cells drew."""
    texts = app.site["figures"].get(app.env.docname, [])
    drawn = [
        image
        for output in doctree.findall(lambda n: isinstance(n, nodes.container) and "cell_output" in n["classes"])
        for image in output.findall(nodes.image)
    ]
    if len(drawn) != len(texts):
        raise ValueError(f"{app.env.docname}: {len(drawn)} figures, and {len(texts)} texts for them")
    for image, text in zip(drawn, texts, strict=True):
        image["alt"] = text


def link_terms(app: Sphinx, doctree: nodes.document, document: str) -> None:
    """The first use of a term in a unit's text links to the glossary."""
    if not document.startswith(("units/", "homework/")):
        return
    target = app.builder.get_relative_uri(document, "glossary")
    open_terms = {term: re.compile(pattern, re.IGNORECASE) for term, pattern in app.site["terms"].items()}
    for text in list(doctree.findall(nodes.Text)):
        above = list(_ancestors(text))
        if any(isinstance(node, NO_TERMS) for node in above) or not any(isinstance(node, TEXT) for node in above):
            continue
        found = [(match.start(), -match.end(), term) for term, p in open_terms.items() if (match := p.search(text))]
        pieces, done = [], 0
        for start, end, term in sorted(found):
            if start < done or term not in open_terms:
                continue
            pieces += [nodes.Text(text[done:start]), _to_term(text[start:-end], f"{target}#{term}")]
            done = -end
            del open_terms[term]
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[done:])])


def show_place(app: Sphinx, document: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Gives a unit's page its neighbours in the course's order, which is not that of the parts, and a first line with
    its part and both."""
    places = app.site["places"]
    here = next((k for k, place in enumerate(places) if place["document"] == document), None)
    if here is None:
        return
    links = []
    for key, arrow, k in (("prev", "← {}", here - 1), ("next", "{} →", here + 1)):
        if not 0 <= k < len(places):
            continue
        address = app.builder.get_relative_uri(document, places[k]["document"])
        title = html.escape(places[k]["title"])
        context[key] = {"link": address, "title": title}
        links.append(f'<a href="{address}">{arrow.format(title)}</a>')
    part = f"{app.builder.get_relative_uri(document, 'index')}#{places[here]['place']}"
    lines = [f'<a href="{part}">{html.escape(places[here]["part"])}</a>', *links]
    context["body"] = f'<nav class="place" aria-label="Place in the course">{"".join(lines)}</nav>{context["body"]}'


def _ancestors(node: nodes.Node):
    while node.parent is not None:
        node = node.parent
        yield node


def _to_term(words: str, address: str) -> nodes.reference:
    return nodes.reference("", "", nodes.inline("", words), refuri=address, internal=True, classes=["term"])


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("builder-inited", read_settings)
    app.connect("doctree-read", name_figures)
    app.connect("doctree-resolved", link_terms)
    app.connect("html-page-context", show_place)
    app.add_css_file("site.css")
    app.add_lexer("ipython3", CellLexer)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
