# by: nbgrader collect
# must not: stop the collecting of a class by a pipe
# comes: left out
import os


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    os.mkfifo(folder / "pipe")
