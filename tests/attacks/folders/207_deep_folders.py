# by: nbgrader collect
# must not: stop a walk over the submission by folders within folders
# comes: left out
import os


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    here = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(300):
            os.mkdir("deeper-and-deeper")
            os.chdir("deeper-and-deeper")
        open("bottom", "w").close()
    finally:
        os.chdir(here)
