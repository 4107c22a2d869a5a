# by: nbgrader collect
# must not: copy the secret key and a rival's work by links that come after more files than are looked at
# comes: left out
import os


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
    for k in range(501):
        (folder / "a" / f"f{k}").touch()
    (folder / "b" / "x").touch()
    os.symlink(place.rival, folder / "c" / "data")
    os.symlink(place.key, folder / "c" / "key.txt")
