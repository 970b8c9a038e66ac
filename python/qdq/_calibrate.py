"""calibrate(): statistics of samples, in parts that merge (docs/calibrate.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import errors
from ._arguments import check_types
from ._core import Job, Options, Path, Progress, Shapes
from ._data import open_data
from ._engines import Engine, open_engine, split
from ._model import open_model
from ._plan import Target
from ._qdq import lib
from ._quantize_options import open_target, plan_options
from ._statistics import Statistics


def calibrate(
    model: Any,
    calib: Any,
    *,
    part: tuple[int, int] | None = None,
    target: Target | Path | Mapping[str, Any] | None = None,
    method: str | None = None,
    percentile: float | None = None,
    samples: int = 0,
    # how the model is cleaned
    optimize: bool = True,
    passes: str | None = None,
    no_fold: Sequence[str] | None = None,
    fold_only: Sequence[str] | None = None,
    fold_input_bytes: int | None = None,
    fold_output_bytes: int | None = None,
    growth_budget: int | None = None,
    equalize: bool = False,
    cpu: str | None = None,
    # formats
    format: str | None = None,
    activation_type: str | None = None,
    weight_type: str | None = None,
    symmetric: bool | None = None,
    weight_asymmetric: bool | None = None,
    per_channel: bool | None = None,
    reduce_range: bool | None = None,
    pow2: bool | None = None,
    block_size: int | None = None,
    weight_method: str | None = None,
    weights: str | None = None,
    accuracy_level: int | None = None,
    tables: bool | None = None,
    bias: str | None = None,
    rest: str | None = None,
    rest_keep: Sequence[str] | None = None,
    direct_io: bool | None = None,
    set: Mapping[str, Any] | None = None,
    # data
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    set_shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
    # engine
    engine: str | Engine = "ort",
    threads: int = 0,
    memory: int | None = None,
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    progress: Progress = False,
) -> Statistics:
    """Collects statistics of a model's activations over samples (docs/calibrate.md).

    Options are those of ``qdq calibrate``, with ``_`` for ``-``.

    Parameters
    ----------
    model, calib
        As of `quantize`. `calib` is a shard, all of whose samples are taken, or with `part` the
        whole.
    part : (int, int)
        (I, N): samples number I - 1, I - 1 + N, ... of `calib` are taken; I from 1 to N.
    target, method, percentile, samples, cpu, image_size, mean, std, layout, channel_order, shape, \
set_shape, state, steps, mask
        As of `quantize`.
    optimize, passes, no_fold, fold_only, fold_input_bytes, fold_output_bytes, growth_budget, \
equalize
        How the model is cleaned, as of `quantize`.
    format, activation_type, weight_type, symmetric, weight_asymmetric, per_channel, \
reduce_range, pow2, block_size, weight_method, weights, accuracy_level, tables, bias, rest, \
rest_keep, direct_io, set
        Formats, as of `quantize`.
    engine : str or Engine
        As of `quantize`.
    threads : int
        Of the engine; 0: all. Equal bytes need equal numbers.
    memory, ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, \
host_timeout
        Of the run, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    Statistics

    Raises
    ------
    UsageError
        Random data, or the method ``"entropy-compat"``.

    Examples
    --------
    >>> part = qdq.calibrate("model.onnx", "calib.npz", part=(1, 16))
    """
    o = check_types(locals(), calibrate.__kwdefaults__)
    job = Job(progress)
    own = open_model(model, o["set_shape"])
    rules = open_target(target, split(engine), o)
    number = count = None
    if part is not None:
        try:
            number, count = part
        except (TypeError, ValueError):
            raise TypeError(f"part: found {part!r}, expected (I, N)") from None
        if not 1 <= number <= count:
            raise errors.UsageError(f"part: found {part!r}, expected (I, N) with I from 1 to N")
    plan = plan_options(o, job, o["samples"], o["threads"])
    options = Options("qdq_calibrate_opts", quantize=plan, part=number, n_parts=count)
    with (
        contextlib.closing(open_data(calib, own, job, o)) as data,
        open_engine(engine, job, o) as runner,
    ):
        parts = own.c, rules.c, runner.c, data.c, options.c
        return Statistics._of(job.make(lib.qdq_statistics_collect, *parts))
