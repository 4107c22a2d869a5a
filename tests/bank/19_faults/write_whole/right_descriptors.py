# verdict: passed
# differs: The operating system's own calls, and a loop, because `write` may take fewer bytes than it was given.
import os


def write_whole(path, data):
    fd = os.open(path + "~", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left):]
    os.fsync(fd)
    os.close(fd)
    os.replace(path + "~", path)
