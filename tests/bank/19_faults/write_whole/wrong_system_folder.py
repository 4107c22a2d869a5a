# verdict: raised, diagnosis: OSError
import os
import tempfile


def write_whole(path, data):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)
