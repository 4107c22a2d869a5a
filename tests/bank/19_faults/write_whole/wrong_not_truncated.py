# verdict: wrong, diagnosis: never_again
import os
def write_whole(path, data):
    part = path + ".part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT, 0o644)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
