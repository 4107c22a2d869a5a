# must not: hand in another student's work, or read a file of the instructor's, by a link
# points: 0 of 11
import json


def hand_in(folder, notebook):
    rival = folder.parent / "rival.ipynb"
    rival.write_text(json.dumps(notebook))
    (folder / "homework.ipynb").symlink_to(rival)
    (folder / "data").symlink_to("/etc")
    (folder / "passwd").symlink_to("/etc/passwd")
