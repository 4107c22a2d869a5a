# verdict: wrong, diagnosis: not_the_best
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    limit = max(max(costs), sum(costs) / p)
    while True:
        sizes, have = [0], 0
        for k, cost in enumerate(costs):
            left = len(costs) - k
            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
                sizes.append(0)
                have = 0
            sizes[-1] += 1
            have += cost
        if len(sizes) == p:
            return sizes
        limit *= 1.05
