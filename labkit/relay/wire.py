"""What travels between a rank and the relay: framed binary records with plain data in them, never pickles.

A frame is a fixed header (magic, type, length of the JSON part, length of the payload), a JSON object and raw bytes. Values are
written as tagged JSON with arrays lying in the payload; whoever reads checks every size, so a rank can send nothing that is executed
and nothing larger than the caps.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

_encode_json = json.JSONEncoder(separators=(",", ":")).encode
_decode_json = json.JSONDecoder().raw_decode  # neither makes a coder for each record
_HEADER = struct.Struct("<4sBIQ")
_MAGIC = b"LKR1"
MAX_JSON = 4 << 20
MAX_PAYLOAD = 128 << 20
_MAX_DEPTH = 32
_NODE_BYTES = len('["n"],')  # the shortest value there is

# types of frames
JOB, REPLY, FAIL = 1, 2, 3  # to a rank
POST, WAIT, POLL, PRINT, RESULT, RAISED, READY, NOTE = 10, 11, 12, 13, 14, 15, 16, 17  # from a rank
STALL = 20  # from a leader

DTYPES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
}


class WireError(Exception):
    """The other side sent something that is not a record of this format, or too large a one."""


class TooMuch(WireError):
    """More than any exercise needs: messages at a time, operations, bytes, printed lines."""


class Closed(Exception):
    """The other side has closed the connection."""


@dataclass(frozen=True)
class Tensor:
    """A torch tensor as plain data. values: numpy array of any shape. dtype: its torch type ("float32", "bfloat16", "int64", ...).

    layout (for arguments): "contiguous", or "strided" for a view of every second column of a wider tensor.
    """

    values: np.ndarray
    dtype: str = "float32"
    layout: str = "contiguous"


@dataclass(frozen=True)
class Placeholder:
    """An argument that only the rank itself can make, for example its communicator."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """A returned object that is no plain data; only the name of its type arrives."""

    type_name: str


COMM = Placeholder("comm")


def bfloat16_to_float32(bits: np.ndarray) -> np.ndarray:
    """uint16 bit patterns of bfloat16 -> the same values as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def float32_to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 -> bit patterns (uint16) of the nearest bfloat16, ties to even."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    bits = values.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def to_bytes(values: np.ndarray, dtype: str) -> bytes:
    """An array as the bytes of a tensor of type `dtype`."""
    if dtype == "bfloat16":
        return float32_to_bfloat16(np.asarray(values, dtype=np.float32)).tobytes()
    return np.ascontiguousarray(values, dtype=np.dtype(dtype)).tobytes()


def from_bytes(data: bytes | memoryview, dtype: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The bytes of a tensor of type `dtype` as an array (bfloat16 arrives as float32 with the same values)."""
    if dtype == "bfloat16":
        flat = bfloat16_to_float32(np.frombuffer(data, dtype=np.uint16))
    else:
        flat = np.frombuffer(data, dtype=np.dtype(dtype))
    return flat if shape is None else flat.reshape(shape)


# -- values ---------------------------------------------------------------------------------------------------------------------------


def encode(value: Any, torch=None) -> tuple[Any, bytes]:
    """A value as (tagged JSON, payload). torch: the torch module where tensors may occur (the trusted side never needs it)."""
    parts: list[bytes] = []
    size = nodes = 0

    def array(tag: str, data: bytes, dtype: str, shape, *more):
        nonlocal size
        if size + len(data) > MAX_PAYLOAD:
            raise WireError(f"arrays of more than {MAX_PAYLOAD} bytes")
        parts.append(data)
        size += len(data)
        return [tag, dtype, list(shape), size - len(data), len(data), *more]

    def walk(v: Any, depth: int):
        nonlocal nodes
        nodes += 1
        if nodes > MAX_JSON // _NODE_BYTES:  # also the end of a list that contains itself twice
            raise WireError(f"a value of more than {MAX_JSON} bytes of JSON")
        if depth > _MAX_DEPTH:
            return ["o", "something nested too deeply"]
        if v is None:
            return ["n"]
        if isinstance(v, (bool, np.bool_)):
            return ["b", bool(v)]
        if isinstance(v, (int, np.integer)):
            return ["i", str(int(v))] if abs(int(v)) < 1 << 256 else ["o", "an integer of enormous size"]
        if isinstance(v, (float, np.floating)):
            return ["f", float(v)]
        if isinstance(v, str):
            return ["s", str(v)]
        if isinstance(v, Placeholder):
            return ["p", v.name]
        if isinstance(v, Tensor):
            return array("t", to_bytes(v.values, v.dtype), v.dtype, np.shape(v.values), v.layout)
        if torch is not None and isinstance(v, torch.Tensor):
            plain = v.detach().to("cpu").resolve_conj().resolve_neg()
            if hasattr(plain, "full_tensor"):
                plain = plain.full_tensor()
            dtype = str(plain.dtype).removeprefix("torch.")
            if plain.numel() * plain.element_size() > MAX_PAYLOAD:
                raise WireError(f"a tensor of more than {MAX_PAYLOAD} bytes")
            if dtype not in DTYPES:
                return ["o", f"tensor of type {dtype}"]
            shape = tuple(plain.shape)
            flat = plain.contiguous().reshape(-1)
            flat = flat.as_strided(
                (flat.numel(),), (1,)
            )  # one element counts as contiguous whatever its stride, but view() looks at it
            raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
            return array("t", raw, dtype, shape, "contiguous")
        if isinstance(v, np.ndarray):
            if v.dtype.name not in DTYPES:
                return ["o", f"array of type {v.dtype}"]
            if v.nbytes > MAX_PAYLOAD:
                raise WireError(f"an array of more than {MAX_PAYLOAD} bytes")
            return array("a", np.ascontiguousarray(v).tobytes(), v.dtype.name, v.shape)
        if isinstance(v, (list, tuple, set, frozenset, range)) or type(v).__name__ in ("dict_values", "dict_keys", "map", "zip"):
            tag = "u" if isinstance(v, tuple) else "l"
            return [tag, [walk(item, depth + 1) for item in list(v)]]
        if isinstance(v, dict):
            return ["d", [[walk(k, depth + 1), walk(item, depth + 1)] for k, item in v.items()]]
        return ["o", type(v).__name__]

    return walk(value, 0), b"".join(parts)


def decode(tagged: Any, payload: bytes | memoryview) -> Any:
    """The reverse of `encode` on the trusted side. Raises WireError on anything that is not exactly that format."""
    taken = 0

    def array(dtype, shape, offset, nbytes) -> np.ndarray:
        whole = all(isinstance(n, int) and 0 <= n < 1 << 40 for n in (*shape, offset, nbytes))
        if dtype not in DTYPES or not whole or offset + nbytes > len(payload):
            raise WireError("an array that does not lie in its payload")
        count = 1
        for n in shape:
            count *= n
        if count * DTYPES[dtype] != nbytes:
            raise WireError("an array whose size and shape differ")
        nonlocal taken
        taken += nbytes
        if taken > len(payload):  # the same bytes again and again would become more than was sent
            raise WireError("arrays that overlap")
        return from_bytes(bytes(payload[offset : offset + nbytes]), dtype, tuple(shape))

    def walk(node: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH + 2 or not isinstance(node, list) or not node:
            raise WireError("not a value")
        tag, *rest = node
        if tag == "n":
            return None
        if tag in ("b", "f", "s"):
            return {"b": bool, "f": float, "s": str}[tag](rest[0])
        if tag == "i":
            return int(str(rest[0])[:100])
        if tag == "p":
            return Placeholder(str(rest[0]))
        if tag == "a":
            return array(*rest[:4])
        if tag == "t":
            return Tensor(array(*rest[:4]), rest[0], str(rest[4]))
        if tag == "l":
            return [walk(item, depth + 1) for item in rest[0]]
        if tag == "u":
            return tuple(walk(item, depth + 1) for item in rest[0])
        if tag == "d":
            return {_key(walk(k, depth + 1)): walk(v, depth + 1) for k, v in rest[0]}
        if tag == "o":
            return Opaque(str(rest[0])[:200])
        raise WireError(f"unknown tag {tag!r}")

    try:
        return walk(tagged, 0)
    except WireError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, RecursionError, OverflowError) as error:
        raise WireError(f"not a value: {error}") from None


def _key(key: Any) -> Any:
    if isinstance(key, (str, int, float, bool, type(None))):
        return key
    if isinstance(key, tuple):
        return tuple(_key(k) for k in key)
    return repr(key)


# -- frames ---------------------------------------------------------------------------------------------------------------------------


def pack(kind: int, meta: dict, payload: bytes | memoryview = b"") -> bytes:
    text = _encode_json(meta).encode()
    if len(text) > MAX_JSON:
        raise WireError(f"a record of {len(text)} bytes of JSON; at most {MAX_JSON} are allowed")
    if len(payload) > MAX_PAYLOAD:
        raise WireError(f"a message of {len(payload)} bytes; at most {MAX_PAYLOAD} are allowed")
    return b"".join((_HEADER.pack(_MAGIC, kind, len(text), len(payload)), text, payload))


def send(sock: socket.socket, kind: int, meta: dict, payload: bytes | memoryview = b"") -> None:
    sock.sendall(pack(kind, meta, payload))


def _receive_exactly(sock: socket.socket, n: int) -> bytearray:
    data = bytearray(n)
    view = memoryview(data)
    done = 0
    while done < n:
        got = sock.recv_into(view[done:], n - done)
        if not got:
            raise Closed()
        done += got
    return data


def parse_header(header: bytes | bytearray) -> tuple[int, int, int]:
    """(type, bytes of JSON, bytes of payload). Raises WireError."""
    magic, kind, json_bytes, payload_bytes = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise WireError("not a record of this format")
    if json_bytes > MAX_JSON or payload_bytes > MAX_PAYLOAD:
        raise WireError("a record larger than allowed")
    return kind, json_bytes, payload_bytes


def parse_meta(text: bytes | bytearray) -> dict:
    try:
        text = str(text, "utf-8")
        meta, end = _decode_json(text)
    except (ValueError, RecursionError):
        raise WireError("a record that is not JSON") from None
    if not isinstance(meta, dict) or end != len(text):
        raise WireError("a record that is not a JSON object")
    return meta


def receive(sock: socket.socket) -> tuple[int, dict, bytearray]:
    """The next frame, blocking. Raises Closed at the end of the stream, WireError on a bad frame."""
    kind, json_bytes, payload_bytes = parse_header(_receive_exactly(sock, _HEADER.size))
    return kind, parse_meta(_receive_exactly(sock, json_bytes)), _receive_exactly(sock, payload_bytes)


class Inbox:
    """Frames from a socket that must never block its reader: bytes are taken as they come and cut into frames."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self._data = bytearray()
        self._missing = 0  # bytes of a frame that has begun
        self._taken = 0

    def taken(self) -> int:
        """Bytes that have arrived since the last call."""
        taken, self._taken = self._taken, 0
        return taken

    def clear(self) -> None:
        self._data = bytearray()

    def frames(self):
        """Take what has arrived and yield the complete frames in it. Raises Closed when the other side is gone, WireError."""
        try:
            more = self.sock.recv(min(max(self._missing, 1 << 15), 1 << 23))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            raise Closed() from None
        if not more:
            raise Closed()
        self._data += more
        self._taken += len(more)
        while len(self._data) >= _HEADER.size:
            kind, json_bytes, payload_bytes = parse_header(self._data[: _HEADER.size])
            end = _HEADER.size + json_bytes + payload_bytes
            self._missing = end - len(self._data)
            if self._missing > 0:
                return
            meta = parse_meta(self._data[_HEADER.size : _HEADER.size + json_bytes])
            payload = self._data[_HEADER.size + json_bytes : end]
            del self._data[:end]
            yield kind, meta, payload
