# must not: run a script in the browser of the person who grades, from ids, metadata, and the title
# points: 11 of 11
import json

SCRIPT = "</script><script>alert('ATTACK')</script>"


def hand_in(folder, notebook):
    notebook["metadata"] = {
        "title": SCRIPT,
        "authors": [{"name": SCRIPT}],
        "kernelspec": {"name": SCRIPT, "display_name": SCRIPT, "language": SCRIPT},
        "language_info": {"name": SCRIPT, "pygments_lexer": SCRIPT, "mimetype": SCRIPT},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {SCRIPT: {}}}},
    }
    notebook["cells"].insert(0, {"cell_type": "code", "id": SCRIPT, "metadata": {"tags": [SCRIPT]}, "source": "1", "outputs": []})
    marks = {"grade_id": SCRIPT, "grade": True, "points": 100, "solution": False, "locked": True, "schema_version": 3}
    notebook["cells"].insert(1, {"cell_type": "code", "metadata": {"nbgrader": marks}, "source": "100", "outputs": []})
    notebook["cells"].append({"cell_type": "code", "metadata": {"language": SCRIPT}, "source": f"# {SCRIPT}", "outputs": []})
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
