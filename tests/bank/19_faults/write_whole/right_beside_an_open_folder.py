# verdict: passed
# differs: The folder is opened once, both names are looked up in it, and in the end it is synchronised as well.
import os


def write_whole(path, data):
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY)
    fd = os.open(name + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=place)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name + ".new", name, src_dir_fd=place, dst_dir_fd=place)
    os.fsync(place)
    os.close(place)
