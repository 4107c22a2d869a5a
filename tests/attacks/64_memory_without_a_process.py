# exercise: count_inside
# must not: keep memory that no limit of a process counts
# verdict: anything but passed
# memory: 256 MB
# deadline: 8
import mmap
import os


def count_inside(x, y):
    try:
        for number in range(4):
            with open(f"/dev/shm/{number}", "wb") as file:
                for _ in range(64):
                    file.write(bytes(1 << 20))
        shared = mmap.mmap(-1, 256 << 20)
        shared[:] = bytes(len(shared))
        handle = os.memfd_create("attack")
        os.write(handle, bytes(64 << 20))
        print("GOT more than half a gigabyte")
    except (OSError, ValueError) as error:
        print("no:", error)
    return -1
