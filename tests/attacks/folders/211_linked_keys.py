# by: hand
# must not: have the folder of the keys taken for a submission
# comes: refused
def hand_in(place, folder, notebook):
    folder.rmdir()
    folder.symlink_to(place.key.parent, target_is_directory=True)
    (place.key.parent / "homework.ipynb").write_bytes(notebook)
