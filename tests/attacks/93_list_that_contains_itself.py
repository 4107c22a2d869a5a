# exercise: count_inside
# must not: keep the judge busy with a value that has no end
# verdict: anything but passed
# processor time: 1 s
# deadline: 2
def count_inside(x, y):
    endless = []
    endless += [endless] * 10
    return endless
