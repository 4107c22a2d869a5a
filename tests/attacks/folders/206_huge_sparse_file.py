# by: nbgrader collect
# must not: fill the instructor's disk with a file that takes no room on the student's
# comes: left out
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    with open(folder / "huge", "wb") as file:
        file.truncate(1 << 40)
