# verdict: passed
import os
import tempfile


def write_whole(path, data):
    folder = tempfile.mkdtemp(dir=os.path.dirname(path))
    part = os.path.join(folder, "part")
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    os.rmdir(folder)
