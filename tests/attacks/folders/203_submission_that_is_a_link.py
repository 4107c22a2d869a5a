# by: nbgrader collect
# must not: have another's submission collected under one's own name
# comes: not at all
def hand_in(place, folder, notebook):
    folder.rmdir()
    folder.symlink_to(place.rival, target_is_directory=True)
