# verdict: wrong, diagnosis: no_actions
def two_alive():
    return [
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
        "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7",
        "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7",
    ]
