"""Waits until the controller of a profile has so many engines: `wait_for_engines.py grading 4`. Fails after two
minutes.
"""

import sys
import time

import ipyparallel

LIMIT = 120.0  # s


def main() -> None:
    profile, wanted = sys.argv[1], int(sys.argv[2])
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            client = ipyparallel.Client(profile=profile, timeout=LIMIT)
            break
        except OSError:  # the controller has not written its file yet
            if time.monotonic() > deadline:
                sys.exit(f"the controller of profile {profile!r} has not started within {LIMIT:.0f} s")
            time.sleep(0.1)
    try:
        client.wait_for_engines(wanted, timeout=LIMIT, interactive=False)
    except TimeoutError:
        sys.exit(f"{len(client.ids)} engines have come within {LIMIT:.0f} s, not {wanted}: see above why")
    finally:
        client.close()


if __name__ == "__main__":
    main()
