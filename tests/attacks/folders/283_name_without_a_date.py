# by: nbgrader collect
# must not: keep the class from being collected by a folder whose name holds no date
# comes: as it is
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    for name in ("mallory+homework+zzz", "mallory+homework+", "mallory+homework+2027-99-99 00:00:00 UTC+x"):
        (folder.parent / name).mkdir()
