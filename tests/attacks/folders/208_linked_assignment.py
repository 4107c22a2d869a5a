# by: hand
# must not: be graded for a rival's folder by a link in submitted/
# comes: refused
def hand_in(place, folder, notebook):
    folder.rmdir()
    folder.symlink_to(place.rival, target_is_directory=True)
