# must not: have the grader import or read files of the submission
# points: 11 of 11
import json

NAMES = ("numpy", "torch", "json", "autograder", "nbgrader_config", "jupyter_config", "sitecustomize", "nbgrader", "check")


def hand_in(folder, notebook):
    for name in NAMES:
        (folder / f"{name}.py").write_text("import os\nos._exit(0)\n")
    (folder / "evil.pth").write_text("import os; os._exit(0)\n")
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
