# must not: run a script in the browser of the person who grades, from outputs
# points: 11 of 11
import json


def hand_in(folder, notebook):
    script = "<script>alert('ATTACK')</script><img src=x onerror=\"alert('ATTACK')\">"
    data = {
        "text/html": script,
        "image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload=\"alert('ATTACK')\">{script}</svg>",
        "application/javascript": "alert('ATTACK')",
        "text/markdown": script,
        "text/latex": "$\\href{javascript:alert('ATTACK')}{x}$",
        "application/vnd.jupyter.widget-view+json": {"model_id": "ATTACK"},
        "image/png": "x' onerror='alert(ATTACK)",
        "image/jpeg": ["/9j/", '"><script>alert(1)</script>'],
    }
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "display_data", "metadata": {"isolated": script}, "data": {kind: data[kind]}} for kind in data
            ]
            cell["outputs"] += [
                {"output_type": "stream", "name": "stdout", "text": script},
                {"output_type": "stream", "name": "</style><script>alert('ATTACK')</script>", "text": ["\x1b[31m", script]},
                {"output_type": "error", "ename": script, "evalue": script, "traceback": [script, "\x1b]8;;javascript:x\x07y"]},
                {"output_type": "display_data", "metadata": {}, "data": data},
            ]
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
