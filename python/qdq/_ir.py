"""onnx_ir: models whose large tensors stay where they are, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import call, package, text
from ._qdq import ffi, lib

LEAST = 1024  # bytes: smaller tensors are copied


class Memory:
    """Bytes in the memory of a model, which they keep alive, for numpy."""

    def __init__(self, owner: Any, data: Any, size: int) -> None:
        self.owner = owner
        address = int(ffi.cast("uintptr_t", data))
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (address, True),
        }


def graphs_of(model: Any) -> Any:
    return (model.graph, *model.graph.subgraphs())


def is_block(tensor: Any, ir: Any) -> bool:
    """External tensors too: their files are not where the library would look."""
    if tensor is None or tensor.dtype == ir.DataType.STRING:
        return False
    return isinstance(tensor, ir.ExternalTensor) or tensor.nbytes >= LEAST


def bytes_of(tensor: Any) -> Any:
    """The raw bytes: the tensor's own memory where that has them in ONNX's layout."""
    if tensor.dtype.bitwidth < 8:
        return tensor.tobytes()
    array = np.ascontiguousarray(tensor.numpy())
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    view = array.reshape(-1).view(np.uint8)
    view.flags.writeable = False
    return view


def to_parts(model: Any) -> tuple[bytes, dict[str, Any]]:
    """A file without the bytes of large initializers, and these by location."""
    import onnx_ir as ir

    copy = model.clone()  # of graph and names; tensors are shared
    blocks: dict[str, Any] = {}
    for graph in graphs_of(copy):
        for value in graph.initializers.values():
            tensor = value.const_value
            if not is_block(tensor, ir):
                continue
            location = f"block-{len(blocks)}"
            blocks[location] = bytes_of(tensor)
            value.const_value = ir.ExternalTensor(
                location,
                0,
                tensor.nbytes,
                tensor.dtype,
                shape=tensor.shape,
                name=value.name,
                doc_string=tensor.doc_string,
            )
    return ir.to_proto(copy).SerializeToString(), blocks


def from_model(model: Any) -> Any:
    """An onnx_ir.Model whose large initializers lie in the memory of `model`."""
    ir, onnx = package("onnx_ir", "an onnx_ir.Model"), package("onnx", "an onnx_ir.Model")
    data, size = ffi.new("void **"), ffi.new("size_t *")
    blocks, n = ffi.new("qdq_block **"), ffi.new("size_t *")
    owner = type(model)(model)  # lives on when the model is closed
    call(lib.qdq_model_to_blocks, owner.c, LEAST, data, size, blocks, n)
    try:
        proto = onnx.ModelProto.FromString(bytes(ffi.buffer(data[0], size[0])))
        arrays = {
            text(b.location): np.asarray(Memory(owner, b.data, b.bytes))
            for b in (blocks[0][i] for i in range(n[0]))
        }
    finally:
        lib.qdq_free(data[0])
        lib.qdq_free(blocks[0])
    made = ir.from_proto(proto)
    for graph in graphs_of(made):
        for value in graph.initializers.values():
            tensor = value.const_value
            if isinstance(tensor, ir.ExternalTensor):
                value.const_value = tensor_of(ir, tensor, arrays[str(tensor.location)])
    return made


def tensor_of(ir: Any, like: Any, raw: Any) -> Any:
    """A tensor with the type, shape and name of `like`."""
    shape, dtype = like.shape, like.dtype
    if dtype.bitwidth < 8:
        return ir.PackedTensor(raw, dtype, shape=shape, name=like.name)
    array = raw.view(dtype.numpy()).reshape(shape.numpy())
    return ir.Tensor(array, dtype, shape=shape, name=like.name)
