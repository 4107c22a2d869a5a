# verdict: wrong, diagnosis: forgets_attention_flops
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    attention = model["layers"] * model["width"] * model["sequence"]
    flops = 6 * model["parameters"]
    done = flops if recompute == "none" else 8 * model["parameters"]
    rate = tokens_per_second / (gpus * peak)
    return rate * flops, rate * done
