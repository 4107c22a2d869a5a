# verdict: wrong, diagnosis: half_a_file
import os


def write_whole(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
