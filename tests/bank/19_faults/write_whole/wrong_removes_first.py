# verdict: wrong, diagnosis: nothing_left
import os


def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if os.path.exists(path):
        os.remove(path)
    os.rename(path + ".new", path)
