"""The harnesses of unit 08's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import numpy as np


def scaling_efficiency(f, world_sizes, global_batch_sizes, step_seconds):
    answer = f(world_sizes, global_batch_sizes, step_seconds)
    if isinstance(answer, (str, dict)):  # not the pair that was asked for
        return answer
    try:
        kind, efficiencies = answer
        if isinstance(kind, str):
            return kind.strip().lower(), np.asarray(efficiencies, float)
    except (TypeError, ValueError):
        pass
    return answer
