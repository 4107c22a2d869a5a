"""The protocol between a rank and the relay: framed binary records with plain data in them, never pickles.

A frame is a fixed header (magic, type, length of the JSON part, length of the payload), a JSON object and raw bytes.
Whoever reads checks every size, so a rank can send nothing that is executed and nothing larger than the caps.

Values are written as tagged JSON, arrays lie in the payload:

    ["n"]                                                  None
    ["b", true]   ["f", 0.5]   ["s", "text"]               bool, float, string
    ["i", "12"]                                            integer, in decimal digits
    ["g", "float32", 0.5]   ["g", "int32", 12]             numpy's number of another type than float64 and int64
    ["l", [value, ...]]   ["u", [value, ...]]              list (or set, range, view of a dict), tuple
    ["k", [0, 1, 2]]   ["q", [0.5, 1.5]]                   list of ints alone, up to 2**53; list of floats alone
    ["d", [[key, value], ...]]                             dict
    ["a", dtype, shape, offset, bytes]                     numpy array; where its elements lie in the payload
    ["t", dtype, shape, offset, bytes, layout]             torch tensor (`Tensor`)
    ["p", name]                                            what only the rank can make (`Placeholder`)
    ["o", name of the type]                                anything else (`Opaque`)
"""

from __future__ import annotations

import functools
import json
import math
import socket
import struct
from collections.abc import Callable, Sequence
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
_MAX_WIDE = 2_000  # integers beyond 2**53 in one value: those of one hash make a set or a dict slow with the square
_MAX_KEYS = 2_000  # floats and tuples as keys of one value: they can be chosen to have one hash, too
_NODE_BYTES = len('["n"],')  # the shortest value there is

# types of frames
JOB, REPLY, FAIL = 1, 2, 3  # to a rank
POST, WAIT, POLL, PRINT, RESULT, RAISED, READY, NOTE = 10, 11, 12, 13, 14, 15, 16, 17  # from a rank
COMPUTE, HOLDS = 18, 19  # from a rank: virtual seconds of computing, bytes alive
STALL = 20  # from a leader
LIVES = 21  # from a rank: does it live to begin its next operation, or does its process die here?
ASK = 22  # from a rank: what only the judge of the case knows, for virtual time

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
# numpy's numbers that are sent with their types; Python's int and float do for int64 and float64
SCALARS = ("float16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")


class WireError(Exception):
    """The other side sent something that is not a record of this format, or too large a one."""


class TooMuch(WireError):
    """More than any exercise needs: messages at a time, operations, bytes, printed lines."""


class Closed(Exception):
    """The other side has closed the connection."""


@dataclass(frozen=True)
class Tensor:
    """A torch tensor as plain data. values: numpy array of any shape. dtype: its torch type ("float32", "bfloat16",
    "int64", ...).

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


# -- values ----------------------------------------------------------------------------------------


def encode(value: Any, torch=None) -> tuple[Any, bytes]:
    """A value as (tagged JSON, payload). torch: the torch module where tensors may occur (the trusted side never needs
    it).

    Raises WireError for a value too large to travel.
    """
    encoder = _Encoder(torch)
    return encoder.node(value, 0), b"".join(encoder.parts)


def _are_plain(items: list) -> bool:
    """True for a list of Python's floats alone, or of its ints alone, none beyond 2**53."""
    kinds = set(map(type, items))
    return kinds == {float} or kinds == {int} and -(1 << 53) <= min(items) <= max(items) <= 1 << 53


class _Encoder:
    """The writing of one value: its arrays so far, and how many nodes it has."""

    def __init__(self, torch=None):
        self.torch, self.parts, self.size, self.nodes = torch, [], 0, 0

    def node(self, v: Any, depth: int) -> list:
        """`v` and all that is in it, tagged."""
        self._count(1)
        if depth > _MAX_DEPTH:
            return ["o", "something nested too deeply"]
        write = _writer_of(type(v))
        if write is not None:
            return write(self, v, depth)
        if self.torch is not None and isinstance(v, self.torch.Tensor):
            return self._torch_tensor(v)
        return ["o", type(v).__name__]

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_JSON // _NODE_BYTES:  # also the end of a list that contains itself twice
            raise WireError(f"a value of more than {MAX_JSON} bytes of JSON")

    def number(self, v: np.generic, depth: int) -> list:
        """A number of numpy's with its type, where Python's own do not stand for it."""
        if v.dtype.name in SCALARS:
            return ["g", v.dtype.name, v.item()]
        return self.integer(v, depth) if isinstance(v, np.integer) else ["f", float(v)]

    def integer(self, v, depth: int) -> list:
        return ["i", str(int(v))] if abs(int(v)) < 1 << 256 else ["o", "an integer of enormous size"]

    def items(self, v, depth: int) -> list:
        items = list(v)
        if not isinstance(v, tuple) and _are_plain(items):
            self._count(len(items))
            return ["k" if type(items[0]) is int else "q", items]
        return ["u" if isinstance(v, tuple) else "l", [self.node(item, depth + 1) for item in items]]

    def mapping(self, v: dict, depth: int) -> list:
        pairs = ((k.item() if isinstance(k, np.generic) else k, item) for k, item in v.items())
        return ["d", [[self.node(k, depth + 1), self.node(item, depth + 1)] for k, item in pairs]]

    def array(self, v: np.ndarray, depth: int) -> list:
        if v.dtype.name not in DTYPES:
            return ["o", f"array of type {v.dtype}"]
        if v.nbytes > MAX_PAYLOAD:
            raise WireError(f"an array of more than {MAX_PAYLOAD} bytes")
        return self._data("a", np.ascontiguousarray(v).tobytes(), v.dtype.name, v.shape)

    def tensor(self, v: Tensor, depth: int) -> list:
        return self._data("t", to_bytes(v.values, v.dtype), v.dtype, np.shape(v.values), v.layout)

    def _torch_tensor(self, v) -> list:
        plain = v.detach().to("cpu").resolve_conj().resolve_neg()
        if hasattr(plain, "full_tensor"):
            plain = plain.full_tensor()
        dtype = str(plain.dtype).removeprefix("torch.")
        if plain.numel() * plain.element_size() > MAX_PAYLOAD:
            raise WireError(f"a tensor of more than {MAX_PAYLOAD} bytes")
        if dtype not in DTYPES:
            return ["o", f"tensor of type {dtype}"]
        flat = plain.contiguous().reshape(-1)
        # One element counts as contiguous whatever its stride, but view() looks at it.
        flat = flat.as_strided((flat.numel(),), (1,))
        raw = flat.view(self.torch.uint8).numpy().tobytes() if flat.numel() else b""
        return self._data("t", raw, dtype, tuple(plain.shape), "contiguous")

    def _data(self, tag: str, data: bytes, dtype: str, shape: Sequence[int], *more) -> list:
        if self.size + len(data) > MAX_PAYLOAD:
            raise WireError(f"arrays of more than {MAX_PAYLOAD} bytes")
        self.parts.append(data)
        self.size += len(data)
        return [tag, dtype, list(shape), self.size - len(data), len(data), *more]


# What is written how. A type that is not here is written as the first of which it is a subclass: bool before int.
_WRITERS: dict[type, Callable[[_Encoder, Any, int], list]] = {
    type(None): lambda encoder, v, depth: ["n"],
    **dict.fromkeys((bool, np.bool_), lambda encoder, v, depth: ["b", bool(v)]),
    int: _Encoder.integer,
    float: lambda encoder, v, depth: ["f", float(v)],
    **dict.fromkeys((np.integer, np.floating), _Encoder.number),
    str: lambda encoder, v, depth: ["s", str(v)],
    Placeholder: lambda encoder, v, depth: ["p", v.name],
    Opaque: lambda encoder, v, depth: ["o", v.type_name],
    Tensor: _Encoder.tensor,
    np.ndarray: _Encoder.array,
    **dict.fromkeys((list, tuple, set, frozenset, range, map, zip), _Encoder.items),
    **dict.fromkeys((type({}.keys()), type({}.values())), _Encoder.items),
    dict: _Encoder.mapping,
}


@functools.lru_cache(256)
def _writer_of(kind: type) -> Callable[[_Encoder, Any, int], list] | None:
    return _WRITERS.get(kind) or next((write for known, write in _WRITERS.items() if issubclass(kind, known)), None)


def decode(tagged: Any, payload: bytes | memoryview) -> Any:
    """The reverse of `encode` on the trusted side. Raises WireError on anything that is not exactly that format."""
    try:
        return _Decoder(payload).value(tagged, 0)
    except WireError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, RecursionError, OverflowError) as error:
        raise WireError(f"not a value: {error}") from None


class _Decoder:
    """The reading of one value. taken: bytes of its payload that arrays have taken; wide: its integers beyond
    2**53; keys: its keys that are floats or tuples."""

    def __init__(self, payload: bytes | memoryview):
        self.payload, self.taken, self.wide, self.keys = payload, 0, 0, 0

    def value(self, node: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH + 2 or not isinstance(node, list) or not node:
            raise WireError("not a value")
        if type(node[0]) is not str or node[0] not in _READERS:
            raise WireError(f"unknown tag {node[0]!r}")
        return _READERS[node[0]](self, node[1:], depth)

    def integer(self, rest: list, depth: int) -> int:
        found = int(str(rest[0])[:100])
        self.wide += abs(found) > 1 << 53
        if self.wide > _MAX_WIDE:
            raise WireError(f"more than {_MAX_WIDE} integers beyond 2**53 in a value")
        return found

    def number(self, rest: list, depth: int) -> np.generic:
        dtype, found = rest
        if dtype not in SCALARS or type(found) is not (float if dtype.startswith("float") else int):
            raise WireError("not a number of numpy's")
        if type(found) is int and not np.iinfo(dtype).min <= found <= np.iinfo(dtype).max:
            raise WireError("a number beyond its type")
        with np.errstate(over="ignore"):
            return np.dtype(dtype).type(found)

    def items(self, rest: list, depth: int) -> list:
        return [self.value(item, depth + 1) for item in rest[0]]

    def plain(self, rest: list, depth: int) -> list:
        if not isinstance(rest[0], list) or not _are_plain(rest[0]):
            raise WireError("not a list of plain numbers")
        return list(rest[0])

    def mapping(self, rest: list, depth: int) -> dict:
        return {self.key(self.value(k, depth + 1)): self.value(v, depth + 1) for k, v in rest[0]}

    def key(self, value: Any) -> Any:
        self.keys += isinstance(value, (float, tuple))
        if self.keys > _MAX_KEYS:
            raise WireError(f"more than {_MAX_KEYS} keys that are floats or tuples in a value")
        return _key(value)

    def array(self, rest: list, depth: int) -> np.ndarray:
        dtype, shape, offset, nbytes = rest[:4]
        whole = all(isinstance(n, int) and 0 <= n < 1 << 40 for n in (*shape, offset, nbytes))
        if dtype not in DTYPES or not whole or offset + nbytes > len(self.payload):
            raise WireError("an array that does not lie in its payload")
        if math.prod(shape) * DTYPES[dtype] != nbytes:
            raise WireError("an array whose size and shape differ")
        self.taken += nbytes
        if self.taken > len(self.payload):  # the same bytes again and again would become more than was sent
            raise WireError("arrays that overlap")
        return from_bytes(bytes(self.payload[offset : offset + nbytes]), dtype, tuple(shape))


_READERS: dict[str, Callable[[_Decoder, list, int], Any]] = {
    "n": lambda decoder, rest, depth: None,
    "b": lambda decoder, rest, depth: bool(rest[0]),
    "i": _Decoder.integer,
    "f": lambda decoder, rest, depth: float(rest[0]),
    "g": _Decoder.number,
    "s": lambda decoder, rest, depth: str(rest[0]),
    "p": lambda decoder, rest, depth: Placeholder(str(rest[0])),
    "a": _Decoder.array,
    "t": lambda decoder, rest, depth: Tensor(decoder.array(rest, depth), rest[0], str(rest[4])),
    "l": _Decoder.items,
    **dict.fromkeys("kq", _Decoder.plain),
    "u": lambda decoder, rest, depth: tuple(decoder.items(rest, depth)),
    "d": _Decoder.mapping,
    "o": lambda decoder, rest, depth: Opaque(str(rest[0])[:200]),
}


def _key(key: Any) -> Any:
    if isinstance(key, (str, int, float, bool, type(None))):
        return key
    if isinstance(key, tuple):
        return tuple(_key(k) for k in key)
    return repr(key)


# -- frames ----------------------------------------------------------------------------------------


def pack(kind: int, meta: dict, payload: bytes | memoryview = b"") -> bytes:
    """A frame as bytes. Raises WireError for one larger than the caps."""
    text = _encode_json(meta).encode()
    if len(text) > MAX_JSON:
        raise WireError(f"a record of {len(text)} bytes of JSON; at most {MAX_JSON} are allowed")
    if len(payload) > MAX_PAYLOAD:
        raise WireError(f"a message of {len(payload)} bytes; at most {MAX_PAYLOAD} are allowed")
    return b"".join((_HEADER.pack(_MAGIC, kind, len(text), len(payload)), text, payload))


def send(sock: socket.socket, kind: int, meta: dict, payload: bytes | memoryview = b"") -> None:
    """Send a frame; `sock` is a socket, or anything with its `sendall`. Raises WireError, OSError."""
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
    """The JSON part of a frame. Raises WireError."""
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
        """Forget what has arrived of a frame that is not complete."""
        self._data = bytearray()

    def frames(self):
        """Take what has arrived and yield the complete frames in it. Raises Closed when the other side is gone,
        WireError."""
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
