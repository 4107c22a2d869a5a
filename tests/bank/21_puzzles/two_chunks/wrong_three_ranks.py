# verdict: wrong, diagnosis: no_actions
def two_chunks():
    return [
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 B0.1 F4.0 B1.1 F5.0 B2.1 F6.0 B3.1 F7.0 B0.0 F4.1 B1.0 F5.1 B2.0 F6.1 B3.0 F7.1 B4.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 B0.1 F3.1 B1.1 F4.0 B2.1 F5.0 B3.1 F6.0 B0.0 F7.0 B1.0 F4.1 B2.0 F5.1 B3.0 F6.1 B4.1 F7.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 B0.1 F2.1 B1.1 F3.1 B2.1 F4.0 B3.1 F5.0 B0.0 F6.0 B1.0 F7.0 B2.0 F4.1 B3.0 F5.1 B4.1 F6.1 B5.1 F7.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
    ]
