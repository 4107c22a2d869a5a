# verdict: wrong, diagnosis: no_actions
def slow_stage():
    return [
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
        "F0 F1 F2 F3 B0 B1 B2 B3 F4 F5 F6 F7 B4 B5 B6 B7",
        "F0 F1 B0 F2 B1 F3 B2 B3 F4 F5 B4 F6 B5 F7 B6 B7",
    ]
