# must not: run a script in the browser of the person who grades, from what a function prints, raises or returns
# points: 5 of 11
import json

ANSWERS = {
    "count_inside": """def count_inside(x, y):
    print("<script>alert('ATTACK')</script>")
    raise type("<img src=x onerror=alert('ATTACK')>", (Exception,), {})("</pre><script>alert('ATTACK')</script>")""",
    "fair_share": """def fair_share(n, rank, world_size):
    return {"</pre><script>alert('ATTACK')</script>": "<svg onload=alert('ATTACK')>"}""",
}


def hand_in(folder, notebook):
    for cell in notebook["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
        cell["source"] = ANSWERS.get(grade_id, cell["source"])
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
