# must not: run a script in the browser of the person who grades, from Markdown, raw cells and attachments
# points: 11 of 11
import json

TEXTS = [
    "<script>alert('ATTACK')</script>",
    "<img src=x onerror=\"alert('ATTACK')\"><svg/onload=alert('ATTACK')>",
    "[press](javascript:alert('ATTACK')) <javascript:alert('ATTACK')> [a][b]\n\n[b]: javascript:alert('ATTACK')",
    "![x](attachment:a.svg) ![y](data:text/html;base64,PHNjcmlwdD4=) [z](data:text/html,ATTACK)",
    "$\\href{javascript:alert('ATTACK')}{\\text{x}}$ $$\\unicode{x<img src=x onerror=alert('ATTACK')>}$$",
    "```html\n<script>alert('ATTACK')</script>\n```\n<!-- --><script>alert('ATTACK')</script>",
    "<iframe srcdoc='<script>ATTACK</script>'></iframe><a href='javascript:alert(`ATTACK`)'>x</a><base href='//ATTACK'>",
    "<SCRIPT\n>alert('ATTACK')</SCRIPT\n><style>@import 'ATTACK'</style>",
    '[t](https://x.example "t\\" onmouseover=\\"alert(ATTACK)")',
]


def hand_in(folder, notebook):
    for kind in ("markdown", "raw", "heading"):
        for text in TEXTS:
            attachments = {"a.svg": {"image/svg+xml": "<svg onload='alert(`ATTACK`)'/>", "text/html": text}}
            metadata = {"raw_mimetype": "text/html", "format": "text/html", "tags": [text], "ATTACK": text}
            notebook["cells"].append({"cell_type": kind, "metadata": metadata, "source": text, "attachments": attachments})
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "why":
            cell["source"] = "\n\n".join(TEXTS)
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
