# verdict: wrong, diagnosis: not_there
import os
def write_whole(path, data):
    part = path + ".part"
    with open(part, "wb") as file:
        file.write(data.strip())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
