"""compare(): how far the outputs of two models are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from ._arguments import check_types
from ._core import Job, Options, Path, Progress, Shapes
from ._data import Labels, SampleSource, open_data
from ._engines import Engine, open_engine
from ._model import ModelSource, open_model
from ._qdq import lib
from ._records import CompareReport, LayerReport, OutputDifference
from ._show import html_table, plot_bars, svg_bars


class CompareResult:
    """How far the outputs of two models are apart.

    Attributes
    ----------
    report : CompareReport
        All outputs.
    layers : LayerReport or None
        The error that each layer introduces, with ``per_layer=True``.
    """

    def __init__(self, report: CompareReport, layers: LayerReport | None) -> None:
        self.report, self.layers = report, layers

    @property
    def outputs(self) -> tuple[OutputDifference, ...]:
        """Each output."""
        return self.report.outputs

    @property
    def sqnr_db(self) -> float:
        """SQNR in dB of the worst output; infinity where all are equal."""
        return self.report.worst_db

    def __repr__(self) -> str:
        return (
            f"<qdq.CompareResult: SQNR {self.sqnr_db:.2f} dB, {len(self.outputs)} outputs, "
            f"{self.report.samples} samples>"
        )

    def _repr_html_(self) -> str:
        rows = [(o.name, f"{o.sqnr_db:.2f} dB") for o in self.outputs]
        return html_table(rows) + svg_bars(*self._plotted(30))

    def _plotted(self, most: int) -> tuple[dict[str, float], str]:
        if self.layers is not None:
            worst = [e for e in self.layers.layers if e.quantized][:most]
            return {e.node: e.introduced.sqnr_db for e in worst}, "SQNR of the layer, dB"
        return {o.name: o.sqnr_db for o in self.outputs}, "SQNR, dB"

    def plot(self, ax: Any = None, *, most: int = 30) -> Any:
        """Draws SQNR with matplotlib: of the layers in 8 bits that lose most, or of the outputs."""
        return plot_bars(*self._plotted(most), ax)


def compare(
    a: ModelSource,
    b: ModelSource,
    *,
    data: SampleSource | None = None,
    per_layer: bool = False,
    labels: Labels | None = None,
    fake_quant: bool = False,
    samples: int = 0,
    threads: int = 0,
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
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
    progress: Progress = False,
) -> CompareResult:
    """Runs two models on the same samples and measures how far their outputs are apart.

    Parameters
    ----------
    a, b
        Models; see `Model`. `a` is the reference.
    data
        Samples, in a form of `quantize`'s `calib`; None: random.
    per_layer : bool
        Also the error that each layer of `b` introduces.
    labels
        As of `quantize`: accuracy is measured, too.
    fake_quant : bool
        Compute Q/DQ in float: what the graph defines, not what the engine makes of it.
    samples : int
        The first ones alone; 0: all.
    threads : int
        Of the engine; 0: all.
    image_size, mean, std, layout, channel_order, shape, state, steps, mask
        Data, as of `quantize`. Each model runs on its own states.
    engine : str or Engine
        What runs both.
    ort_library, openvino_library, providers, plugin_libraries, engine_timeout, host, host_timeout
        Of the engine, as of `quantize`.
    progress : bool or function
        As of `quantize`.

    Returns
    -------
    CompareResult
        SQNR in dB of each output.

    Raises
    ------
    FormatError, UnsupportedError, EngineError, UsageError, FileError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Examples
    --------
    >>> qdq.compare("model.onnx", "model.qdq.onnx", data="test.npz").sqnr_db
    """
    given = check_types(locals(), compare.__kwdefaults__)
    job = Job(progress)
    one, two = open_model(a), open_model(b)
    chosen = data if data is not None else "random:0"
    of_data = {"labels": labels, "max_samples": given["samples"], "argument": "data"}
    with (
        open_engine(engine, job, given) as runner,
        closing(open_data(chosen, one, job, given, **of_data)) as source,
    ):
        options = Options("qdq_compare_opts", job, given)
        parts = runner.c, one.c, two.c, source.c, options.c
        report = job.report(lib.qdq_compare, *parts)
        layers = job.report(lib.qdq_compare_layers, *parts) if per_layer else None
        return CompareResult(report, layers)
