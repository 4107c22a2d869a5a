# by: hand
# must not: have the key imported as a module, by a second name of the same file
# comes: refused
import os


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    os.link(place.key, folder / "helper.py")
