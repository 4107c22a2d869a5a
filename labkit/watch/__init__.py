"""Records of who did what and who waits: the flight recorder of each rank, and what a hang is called."""
