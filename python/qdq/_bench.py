"""bench(): latencies of models that are timed in turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

from . import errors
from ._arguments import check_types
from ._core import Job, Options, Path, Progress, Shapes, read
from ._data import SampleSource, check_states, open_data
from ._engines import Engine, Session, open_engine
from ._model import ModelSource, open_model
from ._qdq import ffi, lib
from ._ranges import take_ranges
from ._records import Record, Times
from ._show import html_table, plot_bars, svg_bars


class BenchReport(Record):
    """All latencies of `bench`."""

    models: tuple[Times, ...]
    steps: int


@dataclasses.dataclass(frozen=True)
class BenchResult:
    """Latencies of models that were timed in turns."""

    #: in the order of the arguments; `speedup` is against the first
    models: tuple[Times, ...]
    #: of the sequence that was timed; the times of models are those of one step
    steps: int = 1

    @property
    def median_ms(self) -> tuple[float, ...]:
        """Median latency of each model in ms; of a sequence, of one step."""
        return tuple(m.median_ms for m in self.models)

    @property
    def sequence_ms(self) -> tuple[float, ...]:
        """The same of all steps together."""
        return tuple(ms * self.steps for ms in self.median_ms)

    @property
    def speedup(self) -> float:
        """Latency of the first model / latency of the last one."""
        return self.models[-1].speedup

    @property
    def report(self) -> BenchReport:
        """All numbers; ``report.to_dict()`` for JSON."""
        return BenchReport(models=self.models, steps=self.steps)

    def __repr__(self) -> str:
        shown = ", ".join(f"{ms:.4g} ms" for ms in self.median_ms[:6])
        more = ", ..." if len(self.models) > 6 else ""
        return f"<qdq.BenchResult: {shown}{more}, {self.speedup:.2f} times as fast>"

    def _repr_html_(self) -> str:
        rows = [
            (f"model {i}", f"{m.median_ms:.4g} ms, {m.speedup:.2f} times as fast")
            for i, m in enumerate(self.models)
        ]
        return html_table(rows) + svg_bars(*self._plotted())

    def _plotted(self) -> tuple[dict[str, float], str]:
        return {f"model {i}": m.median_ms for i, m in enumerate(self.models)}, "ms"

    def plot(self, ax: Any = None) -> Any:
        """Draws the latencies with matplotlib."""
        return plot_bars(*self._plotted(), ax)


def bench(
    *models: ModelSource,
    data: SampleSource | None = None,
    rounds: int = 0,
    warmup: int = 0,
    threads: int = 1,
    seed: int = 0,
    max_ms: float = 0,
    shape: Shapes | None = None,
    min_shape: Shapes | None = None,
    opt_shape: Shapes | None = None,
    max_shape: Shapes | None = None,
    state: Mapping[str, str] | None = None,
    steps: int = 0,
    mask: Sequence[str] | None = None,
    engine: str | Engine = "ort",
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    host: str | None = None,
    host_timeout: float | None = None,
    trtexec: Path | None = None,
    trtexec_args: str | None = None,
    timing_cache: Path | None = None,
    progress: Progress = False,
) -> BenchResult:
    """Times models in turns, so that drift of the machine hits all alike.

    Parameters
    ----------
    *models
        One or more; see `Model`.
    data
        The first sample, or with `state` the first sequence, is the input of all; None: random
        values.
    rounds : int
        0: as many as 2 s allow, at least 20. With `state` a round is a sequence.
    warmup : int
        Runs of each model before; 0: the default of the library.
    threads : int
        Of the engine; 0: all.
    seed : int
        Of random inputs.
    max_ms : float, ms
        End after this time; 0: no limit.
    shape : dict
        Shapes of inputs; open dims are 1.
    min_shape, opt_shape, max_shape : dict
        Shapes of open inputs for which trtexec builds: the smallest, the timed and the largest one;
        None: as `opt_shape`, which is the shape on other engines.
    state, steps, mask
        Time a sequence step by step, as of `quantize`: a step, and the whole. Each model runs on
        its own states. Without `data` the sequence is `steps` random inputs.
    engine : str or Engine
        What runs them.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, \
host_timeout, trtexec, trtexec_args, timing_cache
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    BenchResult
        Latencies in ms; with `state` those of a step, the mean over the sequence.

    Raises
    ------
    FormatError, UnsupportedError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.bench("model.onnx", "model.qdq.onnx").speedup
    """
    if not models:
        raise TypeError("bench: found no model, expected one or more")
    given = check_types(locals(), bench.__kwdefaults__)
    check_states(given)
    usual = take_ranges(engine, given)
    if data is None and given["state"]:
        if not given["steps"]:
            raise errors.UsageError("found state without data and steps, expected one of them")
        data = f"random:{given['seed']}"
    job = Job(progress)
    own = [open_model(m) for m in models]
    options = Options("qdq_bench_opts", job, given)
    with ExitStack() as stack:
        runner = stack.enter_context(open_engine(engine, job, given))
        source = None
        if data is not None:
            of_data = {**given, "shape": usual or None}
            opened = open_data(data, own[0], job, of_data, max_samples=1, argument="data")
            source = stack.enter_context(closing(opened))
        if source is not None and not given["state"]:
            inputs, n = ffi.new("qdq_named_array const **"), ffi.new("size_t *")
            job.run(lib.qdq_data_get, source.c, 0, inputs, n)
            options.c.inputs, options.c.n_inputs = inputs[0], n[0]
        sessions = [stack.enter_context(Session(runner, m, job, given)) for m in own]
        out = ffi.new("qdq_bench_model[]", len(own))
        steps_timed = 1
        if source is not None and given["state"]:
            parts = [(s.c, m.c, own[0].c) for s, m in zip(sessions, own)]
            ran = ffi.new("qdq_sequence_model[]", parts)
            job.run(lib.qdq_bench_sequence, ran, len(own), source.c, options.c, out)
            steps_timed = int(lib.qdq_data_steps(source.c))
        else:
            at = ffi.new("qdq_session *[]", [s.c for s in sessions])
            job.run(lib.qdq_bench, at, len(own), options.c, out)
        return BenchResult(tuple(read(out[i]) for i in range(len(own))), steps_timed)
