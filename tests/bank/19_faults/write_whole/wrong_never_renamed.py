# verdict: wrong, diagnosis: not_there
import os


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
