# verdict: wrong, diagnosis: not_there
import os


def write_whole(path: str, data: bytes) -> None:
    if os.path.exists(path) and os.path.getsize(path) == len(data) and len(data):
        return
    part = path + ".part"
    with open(part, "wb", buffering=0) as file:
        view = memoryview(data)
        while len(view):
            view = view[file.write(view):]
        os.fsync(file.fileno())
    os.replace(part, path)
