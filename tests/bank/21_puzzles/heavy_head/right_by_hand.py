# verdict: passed
def heavy_head():
    return [
        "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 F4 B3 W3 F5 B4 W4 F6 B5 W5 F7 B6 W6 B7 W7",
        "F0 F1 B0 W0 B1 F2 W1 F3 B2 W2 B3 F4 W3 F5 B4 W4 B5 F6 W5 F7 B6 W6 B7 W7",
        "F0 F1 B0 W0 B1 W1 F2 F3 B2 W2 B3 W3 F4 F5 B4 W4 B5 W5 F6 F7 B6 W6 B7 W7",
        "F0 B0 F1 B1 W0 W1 F2 B2 F3 B3 W2 W3 F4 B4 F5 B5 W4 W5 F6 B6 F7 B7 W6 W7",
    ]
