# verdict: wrong, diagnosis: writes_in_place
import os
import shutil


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    shutil.copyfile(path + ".new", path)
    os.remove(path + ".new")
