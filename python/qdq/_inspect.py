"""What a model has: inspect(), import_plan() and strip()."""

from __future__ import annotations

import json
from typing import Any

from . import _core
from ._arguments import check_types
from ._core import Job, Options, Path
from ._model import Model, ModelSource, open_model
from ._plan import Plan, hand_over, reject_external
from ._qdq import ffi, lib


def inspect(model: ModelSource) -> dict[str, Any]:
    """What a model holds (docs/cli.md, ``inspect``).

    Parameters
    ----------
    model
        See `Model`. It is not changed.

    Returns
    -------
    dict
        Counts, inputs, outputs, Q/DQ; sizes in bytes.

    Raises
    ------
    FormatError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.inspect("model.onnx")["nodes"]
    """
    own = open_model(model)
    text = _core.take_text(lib.qdq_model_inspect, own.c, lib.QDQ_VIEW_JSON)
    found: dict[str, Any] = json.loads(text)
    return found


def import_plan(
    model: ModelSource, *, encodings: Path | None = None, bounds: str | None = None
) -> Plan:
    """The quantization that a model has, as a plan for the model without it.

    Parameters
    ----------
    model
        See `Model`. It is not changed.
    encodings : path
        Take it from this file of AIMET for the float model instead.
    bounds : str
        Relu and Clip that a quantizer removed: ``"auto"``, ``"restore"``, ``"leave"``.

    Returns
    -------
    Plan

    Raises
    ------
    FormatError, UnsupportedError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.import_plan("model.qdq.onnx").apply("model.onnx")
    """
    given = check_types(locals(), import_plan.__kwdefaults__)
    own = open_model(model)
    job = Job()
    options = Options("qdq_import_opts", job, given)
    if encodings is not None:
        path = _core.encode(encodings)
        return Plan._of(job.make(lib.qdq_plan_load_encodings, path, own.c, options.c))
    out = ffi.new("qdq_plan **")
    job.run(lib.qdq_plan_import, own.c, options.c, out, ffi.NULL)
    return Plan._of(out[0])


def strip(
    model: ModelSource,
    *,
    output: Path | None = None,
    external_data: str | None = None,
    bounds: str | None = None,
) -> Any:
    """The model without Q/DQ. What had to stay is logged.

    Parameters
    ----------
    model
        See `Model`. It is not changed.
    output : path
        Write the result there.
    external_data : str
        As of `quantize`.
    bounds : str
        Relu and Clip that a quantizer removed: ``"auto"``, ``"restore"``, ``"leave"``.

    Returns
    -------
    model
        Of the same kind as `model`; the path of `output` where that was a path.

    Raises
    ------
    FormatError, UnsupportedError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.strip("model.qdq.onnx", output="model.float.onnx")
    """
    given = check_types(locals(), strip.__kwdefaults__)
    reject_external(given)
    own = open_model(model)
    job = Job()
    options = Options("qdq_import_opts", job, given)
    out, left = ffi.new("qdq_model **"), ffi.new("size_t *")
    job.run(lib.qdq_model_strip, own.c, options.c, out, left)
    return hand_over(Model._of(out[0], own), model, output, given["external_data"])
