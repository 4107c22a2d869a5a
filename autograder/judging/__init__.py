"""One answer: its cases run, judged, named; the bank of known answers."""
