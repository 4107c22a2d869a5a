# verdict: wrong, diagnosis: no_actions
def three_parts():
    return [
        "F0 F1 F2 F3 F4 B0 W0 B1 F5 B2 W1 B3 F6 W2 F7 B4 W3 B5 W4 W5 B6 W6 B7 W7",
        "F0 F1 F2 F3 B0 W0 B1 F4 B2 W1 B3 F5 W2 F6 B4 W3 B5 F7 W4 W5 B6 W6 B7 W7",
        "F0 F1 F2 B0 W0 B1 F3 B2 W1 B3 F4 W2 F5 B4 W3 B5 F6 W4 F7 B6 W5 B7 W6 W7",
        "F0 B0 F1 B1 F2 B2 F3 B3 W0 W1 F4 B4 F5 B5 W2 W3 F6 B6 F7 B7 W4 W5 W6",
    ]
