# verdict: wrong, diagnosis: saves_at_the_end
def wall_time(work, interval, save, restart, failures):
    now, saved, i = 0, 0, 0
    failures = list(failures)
    if not work:
        return save
    while True:
        nxt = failures[i] if i < len(failures) else None
        goal = min(saved + interval, work)
        end = now + goal - saved + (save if goal < work else 0)
        if nxt is None or end <= nxt:
            now, saved = end, goal
            if saved == work:
                return now
            continue
        now = nxt + restart
        i += 1
        while i < len(failures) and failures[i] < now:
            now = failures[i] + restart
            i += 1
