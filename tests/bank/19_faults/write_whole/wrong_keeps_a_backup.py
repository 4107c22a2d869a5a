# verdict: wrong, diagnosis: leaves_files
import os


def write_whole(path, data):
    if os.path.exists(path):
        os.rename(path, path + ".bak")
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
