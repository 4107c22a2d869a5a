# verdict: wrong, diagnosis: not_on_the_disk
import os


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
