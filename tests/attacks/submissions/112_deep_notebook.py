# must not: end the grader by a notebook nested too deeply
# points: 0 of 11
def hand_in(folder, notebook):
    (folder / "homework.ipynb").write_text('{"cells": ' + "[" * 500_000 + "]" * 500_000 + "}")
