# exercise: count_inside
# must not: send escape sequences to the instructor's terminal, or text that reads backwards
# verdict: anything but passed
def count_inside(x, y):
    print("\x1b]0;owned\x07\x1b[2J\x1b[1;1Hpassed  2 of 2 points\x1b[8m")
    print("\x9b31m\x08\x08\x08\x7f\r passed\x00\x0c\x0b\u2028\u2029\u202e\u2066detrever\ufeff")
    print("</pre></div><script>alert('ATTACK')</script><img src=x onerror=alert('ATTACK')>")
    raise ValueError("\x1b[2Jpassed \u202e <script>alert('ATTACK')</script>\x1b]8;;http://localhost\x07")
