# by: hand
# must not: hand in another's notebook by a second name of the same file
# comes: refused
import os


def hand_in(place, folder, notebook):
    os.link(place.rival / "homework.ipynb", folder / "homework.ipynb")
