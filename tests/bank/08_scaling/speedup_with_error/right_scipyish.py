# verdict: passed

import statistics as st


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    a, b = list(map(float, a)), list(map(float, b))
    s = st.mean(a) / st.mean(b)
    return (s, abs(s) * ((st.variance(a) / len(a)) / st.mean(a) ** 2 + (st.variance(b) / len(b)) / st.mean(b) ** 2) ** 0.5)
