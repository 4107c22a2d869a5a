# verdict: raised, diagnosis: arrays_only
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, t = sizes_bytes, round_trip_s
    beta = ((n - n.mean()) * (t - t.mean())).sum() / ((n - n.mean()) ** 2).sum() / 2
    return t.mean() / 2 - beta * n.mean(), beta
