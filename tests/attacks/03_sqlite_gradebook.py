# exercise: count_inside
# must not: read the gradebook, or plant a trigger that raises every score
# verdict: anything but passed
# without a jail: reaches
import sqlite3


def count_inside(x, y):
    try:
        with open("@COURSE@/gradebook.db", "rb") as file:
            print("GOT", len(file.read()), "bytes")
        gradebook = sqlite3.connect("file:@COURSE@/gradebook.db?mode=rw", uri=True)
        gradebook.execute("CREATE TRIGGER full AFTER INSERT ON grade BEGIN UPDATE grade SET auto_score = 100; END")
        gradebook.commit()
        print("GOT", gradebook.execute("SELECT * FROM grade").fetchall())
    except (OSError, sqlite3.Error) as error:
        print("no:", error)
    return -1
