"""Models: read from any kind of object, written as the same kind."""

from __future__ import annotations

import dataclasses
import os
import sys
from io import BytesIO
from typing import Any, Protocol

from . import _core, errors
from ._arguments import texts, whole
from ._arguments import shapes as shapes_of
from ._core import Job, Options, Path, Shapes, call, make, read
from ._qdq import ffi, lib
from ._records import Finding
from ._show import html_table

LEAST_BLOCK = 1024


@dataclasses.dataclass(frozen=True)
class Io:
    """An input or output of a model."""

    name: str
    #: element type as ONNX writes it: ``"float"``, ``"uint8"``
    type: str
    #: a number, the name of a symbolic dim, or None for each dim; None: the rank is unknown
    shape: tuple[int | str | None, ...] | None


def io_of(c: Any) -> Io:
    shape: tuple[int | str | None, ...] | None = None
    if c.rank >= 0:
        shape = tuple(
            int(c.dim[i]) if c.dim[i] >= 0 else _core.text(c.param[i]) or None
            for i in range(c.rank)
        )
    return Io(_core.text(c.name), _core.text(lib.qdq_elem_name(c.elem)), shape)


class Model:
    """An ONNX model in memory. Weights stay where they are: in the mapped file, or in the object
    that the model was made of, which must not change meanwhile.

    Parameters
    ----------
    source
        A path, the bytes of a file, an ``onnx.ModelProto``, an ``onnx_ir.Model``, or another
        ``qdq.Model``. It is never changed. Models of more than 2 GB are read by path.
    external_dir
        Folder of external data; the model's own folder by default. A model in bytes has none.

    Raises
    ------
    FormatError
        The model is malformed: the text names the place.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> model = qdq.Model("model.onnx")
    >>> model.inputs[0].shape
    ('N', 3, 224, 224)
    """

    def __init__(self, source: ModelSource, *, external_dir: Path | None = None) -> None:
        options = Options("qdq_load_opts")
        options.set("external_dir", external_dir)
        self._keep: tuple[Any, ...] = ()
        if isinstance(source, Model):
            made = make(lib.qdq_model_clone, source.c)
            self._keep = source._keep
        elif isinstance(source, (str, os.PathLike)):
            made = Job().make(lib.qdq_model_load, _core.encode(source), options.c)
        else:
            data, blocks = bytes_of(source)
            self._keep = (data, blocks)
            made = load_memory(data, blocks, options)
        self._set(made)

    def _set(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.qdq_model_free)

    @classmethod
    def _of(cls, c: Any, *parents: Model) -> Model:
        """A model that the library made of others, whose weights it may share."""
        m = cls.__new__(cls)
        m._keep = tuple(p._keep for p in parents if p._keep)
        m._set(c)
        return m

    @classmethod
    def from_text(cls, text: str, name: str = "text") -> Model:
        """A model in ONNX's text form (docs/text.md)."""
        return cls._of(make(lib.qdq_model_from_text, text.encode(), name.encode()))

    @property
    def c(self) -> Any:
        if self._c is None:
            raise errors.UsageError("the model is closed")
        return self._c

    def close(self) -> None:
        """Frees the model; models that were made of it live on."""
        if self._c is not None:
            ffi.release(self._c)
            self._c, self._keep = None, ()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def inputs(self) -> tuple[Io, ...]:
        """Inputs of the graph, those with a default value left out."""
        return self._ios(lib.qdq_model_input)

    @property
    def outputs(self) -> tuple[Io, ...]:
        """Outputs of the graph."""
        return self._ios(lib.qdq_model_output)

    def _ios(self, get: Any) -> tuple[Io, ...]:
        io = ffi.new("qdq_io *")
        found: list[Io] = []
        while get(self.c, len(found), io):
            found.append(io_of(io))
        return tuple(found)

    @property
    def opset(self) -> int:
        """Opset of the default domain; 0 if it is not imported."""
        return int(lib.qdq_model_opset(self.c))

    @property
    def is_open(self) -> bool:
        """An input has a dim that is not fixed."""
        return bool(lib.qdq_model_is_open(self.c))

    def check(self) -> tuple[Finding, ...]:
        """What the verifier finds wrong with the model; empty if nothing."""
        out, n = ffi.new("qdq_finding **"), ffi.new("size_t *")
        call(lib.qdq_model_check, self.c, out, n)
        try:
            return tuple(read(out[0][i]) for i in range(n[0]))
        finally:
            lib.qdq_free(out[0])

    def set_shapes(self, shapes: Shapes) -> Model:
        """A copy with these input shapes, from which all others are inferred again."""
        options = Options("qdq_data_opts")
        options.set("shapes", shapes_of("shapes", shapes))
        copy = Model(self)
        call(lib.qdq_model_set_shapes, copy.c, options.c.shapes, options.c.n_shapes)
        return copy

    def set_opset(self, opset: int) -> Model:
        """A copy at a higher opset (at most 26)."""
        copy = Model(self)
        call(lib.qdq_model_set_opset, copy.c, whole("opset", opset))
        return copy

    def extract(self, inputs: list[str], outputs: list[str]) -> Model:
        """The part that computes `outputs` from `inputs`, both names of values."""
        given = texts("inputs", inputs), texts("outputs", outputs)
        options = Options("qdq_load_opts")
        ins, outs = (options.texts(names) for names in given)
        parts = ins, len(given[0]), outs, len(given[1])
        return Model._of(make(lib.qdq_model_extract, self.c, *parts), self)

    def save(self, path: Path, *, external: str = "auto", force: bool = True) -> None:
        """Writes the model, whole or not at all.

        Parameters
        ----------
        external
            ``"auto"``: external data as the model had them, and above 2 GB; ``"always"``: all
            initializers of 1 KiB and more; ``"never"``.
        force
            Replace a file that is there.
        """
        job = Job()
        options = Options("qdq_save_opts", job, {"external": external, "force": force})
        job.run(lib.qdq_model_save, self.c, _core.encode(path), options.c)

    def to_bytes(self) -> bytes:
        """The bytes of a file without external data, at most 2 GB."""
        data, n = ffi.new("void **"), ffi.new("size_t *")
        job = Job()
        try:
            job.run(lib.qdq_model_to_bytes, self.c, job.c, data, n)
            return copy_bytes(ffi.buffer(data[0], n[0]))
        finally:
            lib.qdq_free(data[0])

    def to_text(self) -> str:
        """The model in ONNX's text form (docs/text.md)."""
        return _core.take_text(lib.qdq_model_to_text, self.c)

    def to_proto(self) -> Any:
        """An ``onnx.ModelProto``, with a copy of the weights."""
        onnx = _core.package("onnx", "an onnx.ModelProto")
        return onnx.ModelProto.FromString(self.to_bytes())

    def to_ir(self) -> Any:
        """An ``onnx_ir.Model``. Its large tensors lie in this model's memory and keep it alive."""
        from . import _ir

        return _ir.from_model(self)

    def to_kind(self, kind: str) -> Any:
        """This model as ``"bytes"``, ``"proto"``, ``"ir"``, or else itself."""
        convert = {"bytes": self.to_bytes, "proto": self.to_proto, "ir": self.to_ir}.get(kind)
        return convert() if convert is not None else self

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def __reduce__(self) -> Any:
        return Model, (self.to_bytes(),)

    def __repr__(self) -> str:
        if self._c is None:
            return "<qdq.Model closed>"
        ins, outs = (", ".join(io.name for io in ios) for ios in (self.inputs, self.outputs))
        return f"<qdq.Model ({ins}) -> ({outs}), opset {self.opset}>"

    def _repr_html_(self) -> str:
        if self._c is None:
            return html_table([("model", "closed")])
        rows = [("opset", str(self.opset))]
        for what, ios in (("input", self.inputs), ("output", self.outputs)):
            for io in ios:
                dims = "?" if io.shape is None else ", ".join(str(d or "?") for d in io.shape)
                rows.append((f"{what} {io.name}", f"{io.type} [{dims}]"))
        return html_table(rows)


class ProtoLike(Protocol):
    """An ``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes: ...

    def ByteSize(self) -> int: ...


class IrLike(Protocol):
    """An ``onnx_ir.Model``."""

    @property
    def graph(self) -> Any: ...

    def clone(self) -> Any: ...


# What is a model.
ModelSource = str | os.PathLike[str] | bytes | bytearray | memoryview | ProtoLike | IrLike | Model


def kind_of(source: Any) -> str:
    """``"path"``, ``"bytes"``, ``"proto"``, ``"ir"`` or ``"model"``."""
    if isinstance(source, (str, os.PathLike)):
        return "path"
    if isinstance(source, Model):
        return "model"
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "bytes"
    onnx, onnx_ir = sys.modules.get("onnx"), sys.modules.get("onnx_ir")
    if onnx is not None and isinstance(source, onnx.ModelProto):
        return "proto"
    if onnx_ir is not None and isinstance(source, onnx_ir.Model):
        return "ir"
    raise TypeError(
        f"model: found {type(source).__name__}, expected a path, bytes, an onnx.ModelProto, an "
        "onnx_ir.Model or a qdq.Model"
    )


def bytes_of(source: Any) -> tuple[Any, dict[str, Any]]:
    """The file of a model, and external data by location."""
    kind = kind_of(source)
    if kind == "proto":
        if source.ByteSize() >= 2**31:
            raise errors.UnsupportedError(
                "model: found an onnx.ModelProto of more than 2 GB, expected a path"
            )
        return source.SerializeToString(), {}
    if kind == "ir":
        from . import _ir

        return _ir.to_parts(source)
    view = memoryview(source)
    return (view if view.readonly else bytes(view)), {}


PART = 1 << 24  # bytes between which a signal is handled


def copy_bytes(source: Any) -> bytes:
    """A copy that Ctrl-C ends at once."""
    view = memoryview(source)
    try:
        out = BytesIO()
        if len(view) > PART:  # room for all, so that the buffer is not moved while it grows
            out.seek(len(view) - 1)
            out.write(b"\0")
            out.seek(0)
        for at in range(0, len(view), PART):
            out.write(view[at : at + PART])
    except KeyboardInterrupt as e:
        if isinstance(e, errors.Cancelled):
            raise
        raise errors.Cancelled("interrupted") from e
    return out.getvalue()


def load_memory(data: Any, blocks: dict[str, Any], options: Options) -> Any:
    """Reads a model that borrows `data` and `blocks`."""
    at = ffi.new("qdq_block[]", len(blocks))
    for c, (name, block) in zip(at, blocks.items()):
        c.location = options.hold(ffi.new("char[]", name.encode()))
        c.data = options.hold(ffi.from_buffer(block))
        c.bytes = memoryview(block).nbytes
    options.c.borrow = True
    options.c.blocks, options.c.n_blocks = at, len(blocks)
    buffer = ffi.from_buffer(data)
    return Job().make(lib.qdq_model_load_bytes, buffer, len(buffer), b"model", options.c)


def open_model(source: ModelSource, set_shape: Shapes | None = None) -> Model:
    """`source` itself if it is a qdq.Model, else a model of it; with these shapes, a copy."""
    model = source if isinstance(source, Model) else Model(source)
    return model.set_shapes(set_shape) if set_shape else model
