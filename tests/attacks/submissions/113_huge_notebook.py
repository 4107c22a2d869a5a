# must not: fill the grader's memory by a huge file
# points: 0 of 11
def hand_in(folder, notebook):
    with open(folder / "homework.ipynb", "wb") as file:
        file.write(b'{"cells": [')
        file.truncate(1 << 34)  # takes no room on disk
