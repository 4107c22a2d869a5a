# must not: hold up the grader by a pipe in place of a notebook
# points: 0 of 11
import os


def hand_in(folder, notebook):
    os.mkfifo(folder / "homework.ipynb")
