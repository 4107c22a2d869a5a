"""Damaged, forged and odd notebooks, made from real ones by a seeded generator."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

Notebook = dict

ODD_VALUES = [
    None,
    True,
    -1,
    0,
    1e308,
    10**40,
    "",
    "x" * 5000,
    "\ud800",
    "</script>",
    [],
    {},
    [[[[]]]],
    {"a": {"b": None}},
    3.5,
    "NaN",
]
ODD_CODE = [
    "def {f}(*arguments, **named):\n    return None",
    "def {f}(*arguments):\n    return [[[[1]]], {{'a': (1, 2)}}, 'text']",
    "def {f}(*arguments):\n    return arguments[0]",
    "def {f}(*arguments):\n    return {f}(*arguments)",
    "def {f}(*arguments):\n    raise Exception('\\ud800 \\x00 <b>')",
    "def {f}(*arguments):\n    raise KeyboardInterrupt",
    "def {f}(*arguments):\n    print('x\\n' * 100000)\n    return float('nan')",
    "def {f}(*arguments):\n    import os\n    os.kill(os.getpid(), 9)",
    "def {f}(*arguments):\n    import sys\n    sys.exit()",
    "def {f}(*arguments):\n    import threading\n    return threading.Lock()",
    "def {f}(*arguments):\n    return 10 ** 5000",
    "def {f}(*arguments):\n    return b'bytes' * 100000",
    "class {f}:\n    def __init__(self, *arguments):\n        pass",
    "{f} = 3",
    "{f} = lambda *arguments: __import__('numpy').zeros((3, 0, 2), dtype='S7')",
    "import {f}",
    "from {f} import *",
    "global {f}\n{f}: int = 1",
    "async def {f}(*arguments):\n    return 1",
    "def {f}(*arguments):\n    yield 1",
    "del {f}",
    "def {f}(x, /, *, y):\n    return x",
    "check = print\n__builtins__ = {{}}",
    "from autograder.registry import find\nfind = None",
    "!rm -rf .\n%run x\n{f}??",
    "%%bash\nexit 1",
    "%%ranks\ndef {f}(x): pass",
    "x = '''",
    "(" * 300,
    "-" * 3000 + "1",
    "x" + ".a" * 3000,
    "[" + "[" * 150 + "]" * 150 + "]",
    "lambda: " * 300 + "0",
    "\t \x0c\nif 1:\n        x\n    y",
    "x = 1 \\\n",
    "\x00\x01",
    "\ufeff# bom\nx = 1",
    "é = 'ß'; 名 = é",
    "match {f}:\n    case 1: pass",
    "try:\n    {f}\nexcept* ValueError:\n    pass",
    "exec('def {f}(*a): return 1')",
    "globals()['{f}'] = len",
    "import sys; sys.setrecursionlimit(10**9)",
    "type({f})()" * 200,
]
SCRIPT = "<script>alert(1)</script>"
ODD_OUTPUTS = [
    [{"output_type": "display_data", "data": {"text/html": SCRIPT}, "metadata": {}}],
    [{"output_type": "execute_result", "data": {"text/plain": "100"}, "metadata": {}, "execution_count": 1}],
    [{"output_type": "stream", "name": "stderr", "text": ["a", "b"]}],
    [{"output_type": "stream"}],
    [{"output_type": "error", "traceback": 5}],
    [{"output_type": "display_data", "data": {"image/png": "not base64"}}],
    [
        {
            "output_type": "display_data",
            "data": {"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 50).decode()},
        }
    ],
    [{"output_type": 7, "data": []}, 3, None],
    {"a": 1},
    "text",
]


def mutate(notebook: Notebook, functions: list[str], rng: random.Random) -> bytes:
    """A damaged copy of `notebook` (as JSON), as a file's content. functions: names the answers are to have."""
    found = json.loads(json.dumps(notebook))
    for _ in range(rng.randint(1, 5)):
        rng.choice(CHANGES)(found, functions, rng)
    content = json.dumps(found, ensure_ascii=rng.random() < 0.8).encode("utf-8", "surrogatepass")
    return rng.choice(FILES)(content, rng) if rng.random() < 0.25 else content


def _cells(notebook: Notebook) -> list[dict]:
    cells = notebook.get("cells")
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _one(notebook: Notebook, rng: random.Random) -> dict:
    cells = _cells(notebook)
    return rng.choice(cells) if cells else {}


def _answer(notebook: Notebook, rng: random.Random) -> dict:
    """A cell that is to be written, most of the time."""
    answers = [cell for cell in _cells(notebook) if "solution" in json.dumps(cell.get("metadata"))]
    return rng.choice(answers) if answers and rng.random() < 0.8 else _one(notebook, rng)


def _place(notebook: Notebook, rng: random.Random) -> int:
    return rng.randint(0, len(notebook["cells"]))


def on_the_list(change: Callable) -> Callable:
    """A change that needs a list of cells."""

    def careful(notebook: Notebook, functions: list[str], rng: random.Random) -> None:
        if isinstance(notebook.get("cells"), list) and notebook["cells"]:
            change(notebook, functions, rng)

    return careful


@on_the_list
def drop(notebook, functions, rng):
    for _ in range(rng.choice([1, 1, 1, 5, 50])):
        if notebook["cells"]:
            notebook["cells"].pop(rng.randrange(len(notebook["cells"])))


@on_the_list
def duplicate(notebook, functions, rng):
    for _ in range(rng.choice([1, 1, 2, 20])):
        notebook["cells"].insert(_place(notebook, rng), json.loads(json.dumps(rng.choice(notebook["cells"]))))


@on_the_list
def shuffle(notebook, functions, rng):
    rng.shuffle(notebook["cells"])


@on_the_list
def insert_code(notebook, functions, rng):
    cell = {
        "cell_type": "code",
        "metadata": {},
        "source": _code(functions, rng),
        "outputs": [],
        "execution_count": None,
    }
    notebook["cells"].insert(_place(notebook, rng), cell)


@on_the_list
def insert_nonsense(notebook, functions, rng):
    notebook["cells"].insert(_place(notebook, rng), rng.choice(ODD_VALUES))


def _code(functions, rng) -> str:
    return rng.choice(ODD_CODE).replace("{f}", rng.choice(functions)).replace("{{", "{").replace("}}", "}")


def replace_source(notebook, functions, rng):
    _answer(notebook, rng)["source"] = _code(functions, rng)


def cut_source(notebook, functions, rng):
    cell = _answer(notebook, rng)
    text = cell.get("source")
    text = "".join(text) if isinstance(text, list) and all(isinstance(t, str) for t in text) else text
    if isinstance(text, str) and text:
        at = rng.randrange(len(text))
        cell["source"] = rng.choice([text[:at], text[at:], text[:at] + rng.choice("\"'()[]{}:\\\n\t#") + text[at:]])


def odd_source(notebook, functions, rng):
    _one(notebook, rng)["source"] = rng.choice([*ODD_VALUES, ["a", 1], ["x = 1\r\n", "y = 2\r"], "#" * 200_000])


def odd_field(notebook, functions, rng):
    cell = _one(notebook, rng)
    name = rng.choice(["cell_type", "id", "metadata", "outputs", "execution_count", "source", "attachments", "extra"])
    if rng.random() < 0.3:
        cell.pop(name, None)
    else:
        cell[name] = rng.choice([*ODD_VALUES, "code", "markdown", "raw", "heading"])


def odd_outputs(notebook, functions, rng):
    _one(notebook, rng)["outputs"] = rng.choice(ODD_OUTPUTS)


def odd_marks(notebook, functions, rng):
    metadata = _one(notebook, rng).get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(marks, dict):
        name = rng.choice(
            ["grade", "grade_id", "locked", "points", "solution", "task", "schema_version", "checksum", "cell_type"]
        )
        if rng.random() < 0.3:
            marks.pop(name, None)
        else:
            marks[name] = rng.choice([*ODD_VALUES, True, False, 1000])


def foreign_marks(notebook, functions, rng):
    names = [cell.get("id") for cell in _cells(notebook)] + ["other", "../../etc/passwd", SCRIPT]
    marks = {
        "grade_id": rng.choice(names),
        "grade": True,
        "points": 99,
        "solution": rng.random() < 0.5,
        "locked": False,
    }
    _one(notebook, rng)["metadata"] = {"nbgrader": marks}


def odd_notebook(notebook, functions, rng):
    name = rng.choice(["nbformat", "nbformat_minor", "metadata", "cells", "worksheets", "extra"])
    if rng.random() < 0.1 or name != "cells":
        notebook[name] = rng.choice(ODD_VALUES)


def older_format(notebook, functions, rng):
    notebook["nbformat_minor"] = rng.randint(0, 4)
    for cell in _cells(notebook):
        cell.pop("id", None)


def oldest_format(notebook, functions, rng):
    def renamed(cell):
        return {("input" if k == "source" and cell.get("cell_type") == "code" else k): v for k, v in cell.items()}

    cells = [renamed(cell) for cell in _cells(notebook)]
    notebook.pop("cells", None)
    notebook.update(nbformat=3, worksheets=[{"cells": cells}])


def script_in_text(notebook, functions, rng):
    for cell in _cells(notebook):
        if cell.get("cell_type") == "markdown" and rng.random() < 0.3:
            cell["source"] = f"{SCRIPT} [x](javascript:alert(1))"


CHANGES = [
    drop,
    duplicate,
    shuffle,
    insert_code,
    insert_code,
    insert_nonsense,
    replace_source,
    replace_source,
    replace_source,
    cut_source,
]
CHANGES += [
    cut_source,
    odd_source,
    odd_field,
    odd_field,
    odd_outputs,
    odd_marks,
    odd_marks,
    foreign_marks,
    odd_notebook,
    older_format,
]
CHANGES += [oldest_format, script_in_text]


def truncated(content: bytes, rng) -> bytes:
    return content[: rng.randrange(len(content))]


def flipped(content: bytes, rng) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 3, 100])):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


FILES = [
    truncated,
    flipped,
    lambda content, rng: b"\xef\xbb\xbf" + content,
    lambda content, rng: content.decode("utf-8", "replace").encode("utf-16"),
    lambda content, rng: content.replace(b"\\n", b"\\r\\n"),
    lambda content, rng: content.replace(b"null", b"NaN"),
    lambda content, rng: content.replace(
        b'"metadata": {', b'"metadata": ' + b'{"a": ' * 3000 + b"1" + b"}" * 3000 + b', "b": {', 1
    ),
    lambda content, rng: content.replace(b": ", b":\n\n\t "),
    lambda content, rng: b"[" * rng.choice([10, 100_000]) + content,
    lambda content, rng: rng.randbytes(rng.randrange(2000)),
    lambda content, rng: b"",
    lambda content, rng: content + content,
]
