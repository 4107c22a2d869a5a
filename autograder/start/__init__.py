"""A student's place in the course: the start page in Lab, the card at the end of a unit, the recap at its beginning."""
