# by: nbgrader collect
# must not: hand in another's notebook by a link to it
# comes: refused
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").symlink_to(place.rival / "homework.ipynb")
