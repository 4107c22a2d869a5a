# verdict: passed
def wall_time(work, interval, save, restart, failures):
    now, kept, left = 0, 0, sorted(failures)
    while kept < work:
        piece = min(interval, work - kept)
        end = now + piece + (save if kept + piece < work else 0)
        if not left or left[0] >= end:
            now, kept = end, kept + piece
            continue
        now = left.pop(0) + restart
        while left and left[0] < now:
            now = left.pop(0) + restart
    return now
