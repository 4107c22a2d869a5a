# exercise: count_inside
# must not: have files outside removed or changed by links in its folder
# verdict: anything but passed
import os
import shutil


def count_inside(x, y):
    here = os.getcwd()
    for name, target in (("course", "@COURSE@"), ("home", "@HOME@"), ("root", "/"), ("up", ".."), ("loop", "loop")):
        os.symlink(target, name)
    os.chdir("/tmp")
    try:
        shutil.rmtree(here, ignore_errors=True)
        os.symlink("@COURSE@", here)
    except OSError as error:
        print("no:", error)
    return -1
