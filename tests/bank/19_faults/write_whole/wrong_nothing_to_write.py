# verdict: wrong, diagnosis: not_there
import os


def write_whole(path: str, data: bytes) -> None:
    if not data:
        return
    part = path + ".part"
    with open(part, "wb", buffering=0) as file:
        view = memoryview(data)
        while len(view):
            view = view[file.write(view):]
        os.fsync(file.fileno())
    os.replace(part, path)
