# must not: run commands by magics, shell lines or transformers
# points: 11 of 11
import json

CELLS = [
    "%%javascript\nalert('ATTACK')",
    "!touch @HOME@/pwned",
    "%run ../../evil.py",
    "%load_ext evil",
    "%%bash\ntouch @HOME@/pwned",
]
CELLS += [
    "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    "%%writefile numpy.py\nraise SystemExit",
    "?x",
    "%%python\n1",
]


def hand_in(folder, notebook):
    for text in CELLS:
        notebook["cells"].insert(2, {"cell_type": "code", "metadata": {}, "source": text, "outputs": []})
    (folder / "homework.ipynb").write_text(json.dumps(notebook))
