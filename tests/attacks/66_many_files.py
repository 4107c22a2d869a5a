# exercise: count_inside
# must not: use up inodes, or leave folders too deep to remove
# verdict: anything but passed
import os


def count_inside(x, y):
    try:
        for number in range(20_000):
            open(f"/tmp/{number}", "w").close()
    except OSError as error:
        print("no:", error)
    for _ in range(1500):
        try:
            os.mkdir("deep")
            os.chdir("deep")
        except OSError:
            break
    return -1
