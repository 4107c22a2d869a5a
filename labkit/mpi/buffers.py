"""Tensors as MPI sees them: an address, a length and a data type. Nothing is copied where the tensor lies in one
piece."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mpi4py import MPI
from torch.distributed import ReduceOp

_Op = ReduceOp.RedOpType
_MOST = 2**31 - 1  # bytes in one operation: MPI counts in 32 bits

_DATATYPES = {
    torch.float32: MPI.FLOAT,
    torch.float64: MPI.DOUBLE,
    torch.int8: MPI.INT8_T,
    torch.int16: MPI.INT16_T,
    torch.int32: MPI.INT32_T,
    torch.int64: MPI.INT64_T,
    torch.uint8: MPI.UINT8_T,
    torch.uint16: MPI.UINT16_T,
    torch.uint32: MPI.UINT32_T,
    torch.uint64: MPI.UINT64_T,
    torch.bool: MPI.C_BOOL,
    torch.complex64: MPI.C_FLOAT_COMPLEX,
    torch.complex128: MPI.C_DOUBLE_COMPLEX,
}
_OPERATIONS = {
    _Op.SUM: MPI.SUM,
    _Op.AVG: MPI.SUM,  # divided by the number of ranks afterwards
    _Op.PRODUCT: MPI.PROD,
    _Op.MIN: MPI.MIN,
    _Op.MAX: MPI.MAX,
    _Op.BAND: MPI.BAND,
    _Op.BOR: MPI.BOR,
    _Op.BXOR: MPI.BXOR,
}
_LOGICAL = {
    _Op.SUM: MPI.LOR,
    _Op.MAX: MPI.LOR,
    _Op.BOR: MPI.LOR,
    _Op.PRODUCT: MPI.LAND,
    _Op.MIN: MPI.LAND,
    _Op.BAND: MPI.LAND,
    _Op.BXOR: MPI.LXOR,
}


def usable(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` without its gradient history. Raises ValueError for what is not an ordinary tensor in main memory."""
    if not tensor.is_cpu or tensor.layout is not torch.strided:
        kind = tensor.layout if tensor.is_cpu else tensor.device.type
        raise ValueError(
            f"the mpi backend moves dense tensors in main memory, this one is {kind}: use .to_dense(), .cpu() or nccl"
        )
    return tensor.detach() if tensor.requires_grad else tensor


def usable_sparse(tensor: torch.Tensor) -> torch.Tensor:
    """The same for a tensor that must be sparse, in coordinate format (COO)."""
    if not tensor.is_sparse or tensor.device.type != "cpu":
        raise ValueError("sparse and dense tensors, or tensors outside main memory, cannot be reduced together")
    return tensor.detach() if tensor.requires_grad else tensor


def dtype_name(tensor: torch.Tensor) -> str:
    """ "float32" for torch.float32."""
    return str(tensor.dtype).removeprefix("torch.")


def _is_plain(tensor: torch.Tensor) -> bool:
    """True if its memory holds its values one after the other: a conjugated or negated view holds others."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def in_one_piece(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where its memory holds its values one after the other, else a copy that does."""
    return tensor if _is_plain(tensor) else tensor.resolve_conj().resolve_neg().contiguous()


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of the tensor, or of a copy in one piece, as a vector of bytes."""
    flat = in_one_piece(tensor).reshape(-1)
    # one element counts as contiguous whatever its stride, but view() looks at it
    flat = flat.as_strided((flat.numel(),), (1,))
    return flat.view(torch.uint8)


def _memory(tensor: torch.Tensor) -> MPI.buffer:
    nbytes = tensor.nbytes
    if nbytes > _MOST:
        raise ValueError(
            f"a tensor of {nbytes / 2**30:.1f} GiB: Open MPI moves less than 2 GiB in one piece, so move it in parts"
        )
    return MPI.buffer.fromaddress(tensor.data_ptr(), nbytes)


def bytes_of(tensor: torch.Tensor) -> list:
    """A contiguous tensor of any dtype as the bytes it consists of. The caller keeps the tensor alive.

    No count is given: mpi4py derives it from the length, and in an Allgather it would mean the count of one rank.
    """
    return [_memory(tensor), MPI.BYTE]


def pieces_of(tensor: torch.Tensor, sizes: Sequence[int]) -> list:
    """The same, cut into one piece per rank: `sizes` in bytes."""
    return [_memory(tensor), list(sizes), MPI.BYTE]


def numbers_of(tensor: torch.Tensor) -> list:
    """A contiguous tensor as numbers that MPI can add. Raises ValueError for a dtype unknown to MPI."""
    datatype = _DATATYPES.get(tensor.dtype)
    if datatype is None:
        raise ValueError(f"the mpi backend cannot reduce tensors of {tensor.dtype}")
    return [_memory(tensor), datatype]


def room_for(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor into which MPI may write what `tensor` is to receive, as `dtype` (its own unless given).

    The tensor itself where it lies in one piece and has that dtype, else a new one of its shape.
    """
    dtype = dtype or tensor.dtype
    return tensor if _is_plain(tensor) and dtype is tensor.dtype else torch.empty(tensor.shape, dtype=dtype)


def operation(op: ReduceOp, dtype: torch.dtype) -> MPI.Op:
    """MPI's name of a torch reduction. For bool a sum is "any" and a product "all". Raises ValueError where there is
    none."""
    found = (_LOGICAL if dtype is torch.bool else _OPERATIONS).get(op.op)
    if found is None:
        raise ValueError(f"the mpi backend has no reduction {getattr(op.op, 'name', op)} for {dtype}")
    return found


def addable(tensor: torch.Tensor) -> torch.Tensor:
    """The values of `tensor` in one piece and in a precision that MPI can add: bfloat16, float16 and float8 become
    float32.

    The tensor itself where that is possible.
    """
    if tensor.is_floating_point() and tensor.element_size() < 4:
        return tensor.to(torch.float32, memory_format=torch.contiguous_format)
    return in_one_piece(tensor)


def store_result(result: torch.Tensor, tensor: torch.Tensor, op: ReduceOp, world_size: int) -> None:
    """Put a reduced `result` into `tensor`, averaged where `op` is AVG (integers are rounded towards zero)."""
    if op.op == _Op.AVG:
        result.div_(world_size, rounding_mode=None if result.is_floating_point() or result.is_complex() else "trunc")
    if result is not tensor:
        tensor.copy_(result)


def joined(tensors: list[torch.Tensor]) -> torch.Tensor:
    """The bytes of all tensors in one piece."""
    return torch.cat([as_bytes(tensor) for tensor in tensors])


def room_for_all(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[int]]:
    """A buffer that holds the bytes of all tensors one after the other, and how many belong to each."""
    sizes = [tensor.nbytes for tensor in tensors]
    return torch.empty(sum(sizes), dtype=torch.uint8), sizes


def deal_out(received: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    """Copy the bytes of `received` into the tensors, one after the other."""
    start = 0
    for tensor in tensors:
        piece = received[start : start + tensor.nbytes]
        if start % tensor.element_size():  # a view as wider numbers needs an aligned start
            piece = piece.clone()
        tensor.copy_(piece.view(tensor.dtype).view(tensor.shape))
        start += tensor.nbytes


def lengths(tensors: list[torch.Tensor]) -> str:
    """A description that must be the same on all ranks for tensors combined element by element: "5 float32, 6
    int64"."""
    return ", ".join(f"{tensor.numel()} {dtype_name(tensor)}" for tensor in tensors)
