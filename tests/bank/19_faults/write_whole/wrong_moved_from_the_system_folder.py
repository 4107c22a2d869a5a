# verdict: wrong, diagnosis: writes_in_place
import os
import shutil
import tempfile


def write_whole(path, data):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    shutil.move(file.name, path)
