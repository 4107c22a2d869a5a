# verdict: wrong, diagnosis: takes_the_error_for_success
import os
def write_whole(path, data):
    part = path + ".part"
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        pass
    os.replace(part, path)
