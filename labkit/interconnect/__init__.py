"""The network between ranks as all parts of labkit price it: its links, and the steps of each collective."""
