# by: nbgrader collect
# must not: stop the collecting of a class by a socket, a link to itself or a folder within itself
# comes: left out
import os
import socket


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    (folder / "itself").symlink_to("itself")
    (folder / "around").symlink_to(".", target_is_directory=True)
    here = os.getcwd()
    os.chdir(folder)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind("socket")
    finally:
        os.chdir(here)
