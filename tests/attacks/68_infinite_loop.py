# exercise: count_inside
# must not: keep a processor for longer than a case may take
# verdict: too_slow
# processor time: 1 s
def count_inside(x, y):
    while True:
        pass
