# must not: end the grader by a file that is no notebook
# points: 0 of 11
def hand_in(folder, notebook):
    (folder / "homework.ipynb").write_bytes(
        b'\xff\xfe{"cells": [{"cell_type": NaN, "metadata": 1e999, "source": [[[]]]}, 7, null'
    )
