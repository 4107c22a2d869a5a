# must not: choose what runs its cells
# points: 11 of 11
import json


def hand_in(folder, notebook):
    argv = ["bash", "-c", "touch @HOME@/pwned"]
    notebook["metadata"]["kernelspec"] = {"name": "bash", "display_name": "../../evil", "language": "bash", "argv": argv}
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 999
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
