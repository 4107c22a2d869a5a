# exercise: count_inside
# must not: read the secret key of the assignment
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    places = [f"{folder}/keys" for folder in ("@COURSE@/overlay", os.environ.get("COURSE_OVERLAY", "/nowhere"))]
    for place in places:
        for name in os.listdir(place) if os.path.isdir(place) else []:
            with open(f"{place}/{name}") as file:
                print("GOT", file.read())
    return -1
