# For attacks "with: wire": what they need to speak to the relay in their own words.
import struct
import sys


def connection():
    """The socket on which this rank reports, from the frames above."""
    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("sock"), "sendall"):
        frame = frame.f_back
    return frame.f_locals["sock"]


def record(kind, text, payload=b"", json_bytes=None, payload_bytes=None):
    """A frame of the wire, with lengths that need not be true."""
    sizes = (len(text) if json_bytes is None else json_bytes, len(payload) if payload_bytes is None else payload_bytes)
    return struct.pack("<4sBIQ", b"LKR1", kind, *sizes) + text + payload
