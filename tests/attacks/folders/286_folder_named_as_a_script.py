# by: hand
# must not: be listed by the formgrader and the reports under a name that runs a script in the instructor's browser
# comes: not at all
def hand_in(place, folder, notebook):
    for name in ("<img src=x onerror=eval(atob('YWxlcnQoMSk='))>", "mallory\n[x]", "mallory`", "mal\x1blory"):
        other = folder.parents[1] / name / folder.name
        other.mkdir(parents=True)
        (other / "homework.ipynb").write_bytes(notebook)
    folder.rmdir()
