# by: hand
# must not: have the grader's browser fetch something by the outputs of a cell: HTML, SVG, widgets, JavaScript, links in text
# comes: as it is
import json

HTML = "<img src=https://BEACON/1.png><iframe srcdoc='<img src=//BEACON/2>'></iframe><style>@import url(//BEACON/3)</style>"


def hand_in(place, folder, notebook):
    found = json.loads(notebook)
    kinds = ("text/html", "image/svg+xml", "text/markdown", "text/latex", "application/javascript", "application/vnd.custom+json")
    outputs = [{"output_type": "display_data", "metadata": {kind: {"x": HTML}}, "data": {kind: HTML}} for kind in kinds]
    outputs.append({"output_type": "stream", "name": "stdout", "text": HTML})
    outputs.append(
        {"output_type": "error", "ename": HTML, "evalue": HTML, "traceback": [HTML, "\x1b]8;;https://BEACON/4\x07x\x1b]8;;\x07"]}
    )
    outputs.append(
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "https://BEACON/5.png", "text/plain": HTML}}
    )
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    (folder / "homework.ipynb").write_text(json.dumps(found))
