# verdict: wrong, diagnosis: never_again
import os


def write_whole(path, data):
    with open(path + ".new", "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
