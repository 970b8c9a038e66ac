"""A metric of the user: a function that measures a model on arrays of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import _core, errors
from ._core import Job
from ._data import Arrays, copy_array, stopped
from ._model import Model
from ._qdq import ffi, lib

# What the engine says of a model that it does not run: the model misses the goal.
REFUSALS = lib.QDQ_E_ENGINE, lib.QDQ_E_UNSUPPORTED


class MetricRun:
    """A model that a metric measures. It is valid until the metric returns.

    Examples
    --------
    >>> def accuracy(run):
    ...     return float((run({"x": images})["y"].argmax(1) == labels).mean())
    >>> qdq.quantize("model.onnx", calib=images, metric=accuracy, max_drop=0.01)
    """

    def __init__(self, c: Any, job: Job) -> None:
        self._c, self._job = c, job
        self._refusal: tuple[int, str, Exception] | None = None

    @property
    def is_input(self) -> bool:
        """It is the model that was given, from whose metric `max_drop` counts."""
        return bool(lib.qdq_metric_run_is_input(self._live()))

    @property
    def model(self) -> Model:
        """A copy of the model, to inspect or save."""
        own = lib.qdq_metric_run_model(self._live())
        return Model._of(_core.make(lib.qdq_model_clone, own))

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model once.

        Parameters
        ----------
        inputs
            An array for each input of the model, with a shape that one run takes.

        Returns
        -------
        dict
            All outputs by name, as arrays of numpy.

        Raises
        ------
        EngineError, UnsupportedError
            The engine does not run the model. If the metric lets it pass, this model misses the
            goal; of the input model, it ends the call.
        """
        arrays = Arrays(inputs, "metric")
        out, n = ffi.new("qdq_named_array const **"), ffi.new("size_t *")
        err = ffi.new("qdq_error *")
        c = self._live()

        def work() -> int:
            return int(lib.qdq_metric_run_arrays(c, arrays.c, len(arrays.c), out, n, err))

        # On the main thread the call would keep Ctrl-C, and its own messages, waiting.
        is_main = threading.current_thread() is threading.main_thread()
        status = self._job.on_own_thread(work) if is_main else work()
        if self._job.error is not None:
            raise self._job.error
        try:
            _core.raise_for(status, err)
        except Exception as e:
            if status in REFUSALS:
                self._refusal = status, _core.text(err.text), e
            raise
        found = (out[0][i] for i in range(n[0]))
        return {_core.text(a.name): copy_array(a.array, _core.text(a.name)) for a in found}

    def _live(self) -> Any:
        if self._c is None:
            raise errors.UsageError("the run of a metric ended with the metric")
        return self._c


class Metric:
    """The library's `qdq_metric` over a function of Python."""

    def __init__(self, function: Callable[[MetricRun], float], job: Job) -> None:
        if not callable(function):
            raise TypeError(f"metric: found {type(function).__name__}, expected a function")
        self.function, self.job = function, job
        self.handle = ffi.new_handle(self)
        self.c = ffi.new("qdq_metric *")
        lib.qdq_metric_python_init(self.c)
        name = getattr(function, "__name__", "metric")
        self.name = ffi.new("char[]", _core.encode(name))
        self.c.name, self.c.ctx = self.name, self.handle
        self.c.measure = lib.qdq_metric_measure_python

    def measure(self, c: Any) -> tuple[int, float, str]:
        """Status, metric, and why there is none."""
        run = MetricRun(c, self.job)
        try:
            value = self.function(run)
        except Exception as e:
            if run._refusal is not None and e is run._refusal[2]:
                return run._refusal[0], 0.0, run._refusal[1]
            raise
        finally:
            run._c = None
        try:
            return int(lib.QDQ_OK), float(value), ""
        except (TypeError, ValueError):
            raise TypeError(f"metric: found {type(value).__name__}, expected a number") from None


@ffi.def_extern(error=lib.QDQ_E_INTERRUPTED)  # type: ignore[untyped-decorator]
def qdq_metric_measure_python(ctx: Any, run: Any, value: Any, err: Any) -> int:
    metric: Metric = ffi.from_handle(ctx)
    answer = metric.job.ask(lambda: metric.measure(run))
    if answer is None:
        return stopped(err)
    status, value[0], said = answer
    return status if status == lib.QDQ_OK else _core.set_error(err, status, said)
