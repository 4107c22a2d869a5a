# verdict: passed
# differs: It lives through every second, computing, saving or resting: slow, and easy to believe.
def wall_time(work, interval, save, restart, failures):
    kept = computed = saving = resting = now = 0
    struck = set(failures)
    while True:
        if resting == 0 and computed == work:
            return now
        if now in struck:
            computed, saving, resting = kept, 0, restart
        now += 1
        if resting:
            resting -= 1
        elif computed - kept == min(interval, work - kept) and computed < work:
            saving += 1
            if saving == save:
                kept, saving = computed, 0
        else:
            computed += 1
