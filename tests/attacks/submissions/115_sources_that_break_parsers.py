# must not: end or hold up the grader by sources that are hard to parse
# points: 11 of 11
import json

SOURCES = ["(" * 5000, "-" * 90_000 + "1", "1" + "+1" * 40_000, "a" + ".b" * 40_000, "lambda: " * 10_000 + "1", "9" * 90_000]
SOURCES += [
    "f" * 99_000 + "()" * 500,
    "x = " + "[" * 90 + "]" * 90,
    "\x00import os",
    "# coding: rot13\nvzcbeg bf",
    "\ud800 = 1",
    "if 1:\n" * 3000,
]
SOURCES += ["".join(" " * k + "if x:\n" for k in range(99)) + " " * 99 + "y", "import" + " " * 90_000 + "x", "%" * 90_000]


def hand_in(folder, notebook):
    for text in SOURCES:
        notebook["cells"].insert(1, {"cell_type": "code", "metadata": {}, "source": text, "outputs": []})
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
