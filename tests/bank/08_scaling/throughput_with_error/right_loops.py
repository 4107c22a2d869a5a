# verdict: passed
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    images, seconds, steps = 0, 0.0, 0
    for step, s in enumerate(step_seconds):
        if step < warmup:
            continue
        for batch in local_batch_sizes:
            images += batch
        seconds += s
        steps += 1
    mean = seconds / steps
    squares = sum((s - mean) ** 2 for s in step_seconds[warmup:])
    sem = (squares / (steps - 1) / steps) ** 0.5
    return images / seconds, images / seconds**2 * sem * steps
