# by: hand
# must not: end the report of a class by a file or a folder that cannot be read
# comes: as it is
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    (folder / "shut.py").write_text("x = 1\n")
    (folder / "shut.py").chmod(0)
    (folder / "shut").mkdir(mode=0)
