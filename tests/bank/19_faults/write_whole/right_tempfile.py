# verdict: passed
import os
import tempfile


def write_whole(path, data):
    folder = os.path.dirname(path)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(file.name, path)
