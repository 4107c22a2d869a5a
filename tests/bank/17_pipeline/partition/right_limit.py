# verdict: passed
def partition(costs, p):
    if p > len(costs):
        raise ValueError("more stages than layers")

    def stages(limit):
        sizes, have = [0], 0
        for k, cost in enumerate(costs):
            left = len(costs) - k
            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
                sizes.append(0)
                have = 0
            sizes[-1] += 1
            have += cost
        return sizes

    limit = max(costs)
    while len(stages(limit)) > p:
        limit += 1
    return stages(limit)
