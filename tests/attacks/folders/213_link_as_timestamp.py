# by: hand
# must not: have the key read as a date, and said in an error
# comes: as it is
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    (folder / "timestamp.txt").symlink_to(place.key)
