# verdict: wrong, diagnosis: forgets_the_rest
import os


def write_whole(path, data):
    with open(path + ".new", "wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
