# verdict: wrong, diagnosis: not_on_the_disk
import os


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
    os.replace(path + ".new", path)
