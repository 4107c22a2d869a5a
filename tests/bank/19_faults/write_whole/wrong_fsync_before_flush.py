# verdict: wrong, diagnosis: not_on_the_disk
import os


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
