# verdict: wrong, diagnosis: of_one_gpu
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    attention = model["layers"] * model["width"] * model["sequence"]
    flops = 6 * model["parameters"] + 12 * attention
    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
    rate = tokens_per_second / peak
    return rate * flops, rate * done
