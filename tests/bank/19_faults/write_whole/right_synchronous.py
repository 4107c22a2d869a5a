# verdict: passed
import os


def write_whole(path, data):
    fd = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_SYNC)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)
