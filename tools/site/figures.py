"""Descriptions of a lesson's figures in words: for those who cannot see it.

A picture in the text brings its alternative text along. A picture that a cell drew gets one here: what the cell's
metadata say under `alt` (a text, or a list of one for each picture), or else what its code and the lesson's text
around it say: titles and axes, the docstrings of what draws, and the sentence that reads the picture.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from importlib import import_module

from nbformat import NotebookNode

LABKIT = {"plots": "labkit.plots", "timeline": "labkit.timeline"}
DRAWN = {  # whose docstrings speak of events and options, not of what is seen
    "draw": "Space-time diagram: time to the right, one lane for each rank, an arrow for each message",
    "training": "Loss or accuracy over the course of training",
}
LONGEST = 420  # characters
PICTURES = ("image/png", "image/jpeg", "image/svg+xml")


def alternatives(notebook: NotebookNode) -> list[str]:
    """The alternative text of each picture that the cells of a lesson drew, in their order."""
    helpers = _functions(notebook)
    found, heading = [], ""
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            heading = _last_heading(cell.source) or heading
            continue
        count = sum(any(kind in out.get("data", {}) for kind in PICTURES) for out in cell.get("outputs", []))
        if not count:
            continue
        own = cell.metadata.get("alt")
        around = _first_sentences(notebook.cells[k + 1 :]) or _last_sentence(notebook.cells[:k])
        texts = [own] if isinstance(own, str) else own or [_said(cell.source, helpers, heading, around)]
        found += [texts[min(n, len(texts) - 1)] + _number(n, count, len(texts)) for n in range(count)]
    return found


def _number(n: int, count: int, texts: int) -> str:
    return f" (Figure {n + 1} of {count}.)" if count > texts else ""


def _said(source: str, helpers: dict[str, ast.FunctionDef], heading: str, around: str) -> str:
    """The sentences a cell's figure gets from its code, and from the text `around` it."""
    tree = _parsed(source)
    titles, axes, docs = [], [], []
    if tree:
        for node in _drawing(tree, helpers):
            _gather(node, titles, axes)
        docs = [*_docs(tree, helpers)]
    parts = [f"{heading}:" if heading else "", *docs]
    if titles:
        parts.append(f"Title: {'; '.join(dict.fromkeys(titles))}.")
    if axes:
        parts.append(f"Axes: {', '.join(dict.fromkeys(axes))}.")
    text = re.sub(r"\s+", " ", " ".join(part for part in (*parts, around) if part))
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " ..."


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(re.sub(r"^([ \t]*)[%!]", r"\1# ", source, flags=re.M))
    except SyntaxError:
        return None


def _functions(notebook: NotebookNode) -> dict[str, ast.FunctionDef]:
    trees = [_parsed(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    return {node.name: node for tree in trees if tree for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _called(node: ast.AST) -> list[str]:
    """The names of the functions called in `node`, in order, without their modules."""
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [f.attr if isinstance(f, ast.Attribute) else f.id for f in calls if isinstance(f, (ast.Attribute, ast.Name))]


def _drawing(tree: ast.Module, helpers: dict[str, ast.FunctionDef]) -> list[ast.AST]:
    """The cell's own statements, and the lesson's functions that they call."""
    return [tree, *(helpers[name] for name in dict.fromkeys(_called(tree)) if name in helpers)]


def _gather(tree: ast.AST, titles: list[str], axes: list[str]) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        given = {word.arg: word.value for word in node.keywords if word.arg}
        if name in ("set_title", "suptitle", "title", "set_xlabel", "set_ylabel", "xlabel", "ylabel") and node.args:
            given[name.removeprefix("set_").replace("suptitle", "title")] = node.args[0]
        for word, into in (("title", titles), ("xlabel", axes), ("ylabel", axes)):
            text = _literal(given.get(word))
            if text:
                into.append(text)


def _literal(node: ast.AST | None) -> str:
    """A string, or what of an f-string stands in the code; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"[$\\]", "", node.value.replace("\n", " ")).strip()
    if isinstance(node, ast.JoinedStr):
        text = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return text if len(re.sub(r"\W", "", text)) > 3 else ""
    return ""


def _docs(tree: ast.AST, helpers: dict[str, ast.FunctionDef]) -> list[str]:
    """The docstrings of the functions that draw, labkit's and the lesson's own; and of which function they draw
    the run."""
    found, subjects = [], []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in helpers and _draws(helpers[name], helpers):
            found.append(_sentence(ast.get_docstring(helpers[name]) or ""))
            found += _docs(ast.Module(helpers[name].body, []), helpers) if not found[-1] else []
            subjects += [one.id for one in call.args if isinstance(one, ast.Name) and one.id in helpers]
        elif _labkit(name):
            found.append(_labkit(name))
    found = [text for text in dict.fromkeys(found) if text]
    return [*found[:2], f"Drawn for {', '.join(dict.fromkeys(subjects))}."] if subjects else found[:2]


def _draws(function: ast.FunctionDef, helpers: dict[str, ast.FunctionDef]) -> bool:
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    if names & {"plt", "plots", "timeline"}:
        return True
    return any(name in helpers and name != function.name and _draws(helpers[name], {}) for name in _called(function))


@cache
def _labkit(name: str) -> str:
    """A sentence on what a function of labkit draws; "" for any other."""
    if name in DRAWN:
        return DRAWN[name] + "."
    for module in LABKIT.values():
        function = vars(import_module(module)).get(name)
        if inspect.isfunction(function) and "Axes" in str(function.__annotations__.get("return")):
            return _sentence(inspect.getdoc(function) or "") * (not name.startswith("_"))
    return ""


def _sentence(doc: str) -> str:
    """The first sentence of a docstring."""
    return re.split(r"(?<=\.)\s", re.sub(r"\s+", " ", doc.replace("`", "")), maxsplit=1)[0]


def _last_heading(source: str) -> str:
    found = re.findall(r"^#{1,4} (.+)$", source, flags=re.M)
    return re.sub(r"\s*\(\d+ points?\)|[`*$]", "", found[-1]) if found else ""


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*$\\]", "", re.sub(r"\s+", " ", markdown))).strip()


def _first_sentences(after: list[NotebookNode]) -> str:
    """The continuation of the text below a figure, if it does before the next heading: one or two sentences."""
    if not after or after[0].cell_type != "markdown" or after[0].source.lstrip().startswith(("#", "|", "```", "$$")):
        return ""
    paragraph = re.split(r"\n\s*\n|\n(?=[-#|])", after[0].source.strip())[0]
    return " ".join(re.split(r"(?<=[.?!])\s", _plain(paragraph))[:2])


def _last_sentence(before: list[NotebookNode]) -> str:
    """The last sentence of the text before the figure's cell."""
    texts = [cell.source for cell in before if cell.cell_type == "markdown"]
    parts = re.split(r"\n\s*\n", texts[-1].strip()) if texts else []
    paragraphs = [part for part in parts if not part.startswith(("#", "|", "!", "```", "$$"))]
    return re.split(r"(?<=[.?!])\s", _plain(paragraphs[-1]))[-1] if paragraphs else ""
