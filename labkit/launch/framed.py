"""One message between two of our processes: its length in 4 bytes, then JSON; file descriptors travel with its first
bytes."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence

MAX_BYTES = 16 << 20  # of one message: an environment is some kB


class Broken(Exception):
    """The peer broke off in the middle, or does not speak this protocol."""


def send(sock: socket.socket, message: dict, descriptors: Sequence[int] = ()) -> None:
    """Send `message` and copies of `descriptors`. Raises OSError where the peer is gone."""
    text = json.dumps(message).encode()
    data = len(text).to_bytes(4, "little") + text
    sent = socket.send_fds(sock, [data], list(descriptors))
    sock.sendall(data[sent:])


def receive(sock: socket.socket, most: int) -> tuple[dict | None, list[int]]:
    """The next message and its descriptors, `most` of them at most, which are the caller's to close; (None, []) where
    the peer is gone.

    Raises Broken, OSError and TimeoutError; no descriptor stays open then.
    """
    try:
        data, descriptors, _, _ = socket.recv_fds(sock, 1 << 16, most)
    except ConnectionResetError:  # gone without waiting for us
        return None, []
    if not data:
        return None, []
    try:
        while len(data) < 4 or len(data) < 4 + _length(data):
            more = sock.recv(1 << 16)
            if not more:
                raise Broken("the message breaks off")
            data += more
        return json.loads(data[4:]), descriptors
    except ValueError as error:
        _close(descriptors)
        raise Broken(f"not a message: {error}") from None
    except BaseException:
        _close(descriptors)
        raise


def _length(data: bytes) -> int:
    length = int.from_bytes(data[:4], "little")
    if length > MAX_BYTES:
        raise Broken(f"a message of {length} bytes")
    return length


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
