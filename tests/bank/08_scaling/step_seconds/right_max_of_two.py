# verdict: passed
# differs: A step takes the computation, or the part of it that hides nothing and the communication after it, whichever is longer: one `max`.
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    largest_share = -(-global_batch_size // world_size)
    computation = largest_share * seconds_per_image
    messages = 2 * world_size - 2
    communication = messages * alpha + messages * (parameters * 4 / world_size) * beta
    return max(computation, computation * (1 - hidden) + communication)
