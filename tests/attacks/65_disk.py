# exercise: count_inside
# must not: fill the disk
# verdict: anything but passed
import os
import shutil


def count_inside(x, y):
    written = 0
    for number in range(256):
        try:
            with open(f"/tmp/{number}", "wb") as file:
                written += file.write(bytes(1 << 20))
        except OSError as error:
            print("no:", error)
            break
    free = shutil.disk_usage("/tmp").total
    print("wrote", written, "of", free)
    if free > 1 << 30 and "@COURSE@".startswith("/tmp") and os.path.exists("@COURSE@"):
        print("GOT room on the instructor's disk")
    return -1
