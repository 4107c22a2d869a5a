# exercise: count_inside
# must not: flood the card, the notebook or the grader with output
# verdict: anything but passed
def count_inside(x, y):
    for _ in range(2000):
        print("flood " * 1000)
    print("x" * (32 << 20))
    return -1
