# verdict: wrong, diagnosis: recomputes_always
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    attention = model["layers"] * model["width"] * model["sequence"]
    flops = 6 * model["parameters"] + 12 * attention
    done = 8 * model["parameters"] + 16 * attention
    rate = tokens_per_second / (gpus * peak)
    return rate * flops, rate * done
