"""quantize(): place, calibrate, reach the goal, verify, time; order and numbers of the tool."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core, errors
from ._core import Job, Options, Path, Progress, Shapes, read
from ._data import Data, open_data
from ._engines import OPTIONS as ENGINE_OPTIONS
from ._engines import Engine, Session, split, threads_of
from ._model import Model, open_model
from ._plan import Plan, Target, hand_over
from ._qdq import ffi, lib
from ._records import CompareReport, EngineCheck, GoalReport, Record, Times

# The keyword of each member of qdq_quantize_opts.
OPTIONS = {
    "exclude": "exclude",
    "include": "include",
    "op_types": "op_types",
    "exclude_op_types": "exclude_op_types",
    "shape": "shapes",
    "memory": "memory",
    "method": "method",
    "percentile": "percentile",
    "cache": "cache",
    "equalize": "equalize",
    "bias_correction": "bias_correction",
    "cpu": "cpu",
}
# Keys of the target that an option of its own sets, and how.
FORMATS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "activation_type": lambda v: {"activation.type": v},
    "weight_type": lambda v: {"weight.type": v},
    "symmetric": lambda v: {"activation.symmetric": bool(v)},
    "weight_asymmetric": lambda v: {"weight.symmetric": not v},
    "per_channel": lambda v: {"weight.per_channel": bool(v)},
    "reduce_range": lambda v: {"weight.reduced": True} if v else {},
    "pow2": lambda v: {"activation.pow2": True, "weight.pow2": True} if v else {},
    "block_size": lambda v: {"weight.block": str(v)},
    "weight_method": lambda v: {"weight.method": v},
    "weights": lambda v: {"weight.store": v},
    "bias": lambda v: {"bias.type": v},
    "rest": lambda v: {
        "rest.type": {"fp32": "float", "fp16": "float16", "bf16": "bfloat16"}.get(v, v)
    },
    "rest_keep": lambda v: {"rest.keep": list(v)},
    "direct_io": lambda v: {"rest.direct_io": True} if v else {},
}
TYPES = "activation.type", "activation.symmetric", "weight.type", "weight.symmetric"
PRESETS: dict[str, dict[str, Any]] = {
    "int8": dict(zip(TYPES, ("int8", True, "int8", True))),
    "uint8": dict(zip(TYPES, ("uint8", False, "int8", True))),
    "int16": dict(zip(TYPES, ("int16", True, "int8", True))),
    "fp8": {
        **dict(zip(TYPES, ("float8e4m3fn", True, "float8e4m3fn", True))),
        "bias.type": "float",
    },
    "int4": {
        **dict(zip(TYPES, ("float", False, "int4", True))),
        "weight.block": "32",
        "bias.type": "float",
    },
    "uint4": {
        **dict(zip(TYPES, ("float", False, "uint4", False))),
        "weight.block": "32",
        "bias.type": "float",
    },
}
TARGET_OF_ENGINE = {"openvino": "openvino", "trtexec": "tensorrt"}
# As on the command line: samples that a goal is judged on, and how long its search may take.
FEW_SAMPLES, LEAST_JUDGES, MOST_JUDGES, FOLDS, MAX_SLOWDOWN = 64, 16, 64, 4, 3.5
RANDOM_SAMPLES = 8
TRIES = 4


@dataclasses.dataclass(frozen=True)
class Speed:
    """How fast the quantized model is, timed in turns with the model that was given."""

    #: the model that was given
    before: Times
    #: the quantized one, with its speedup
    after: Times
    #: the same with the shapes of a sample fixed by the engine; None: shapes are fixed, or no time
    fixed: Times | None = None


@dataclasses.dataclass
class Split:
    """Which samples calibrate, and which evaluate: [first, first + judge)."""

    calibrate: int = 0
    judge: int = 0
    first: int = 0
    held_back: bool = False
    folds: int = 0


class QuantizeResult:
    """What `quantize` made.

    Attributes
    ----------
    model
        The quantized model, as the kind of object that was given; the path of `output` where
        that was a path, or a `Model` without `output`.
    plan : Plan
        What is quantized, with scales and reasons.
    target : Target
        The rules that placed it.
    compared : CompareReport or None
        Distance of the outputs on samples that did not calibrate.
    goal : GoalReport or None
        The accuracy goal and how it was reached; None: no goal.
    engine_check : EngineCheck or None
        Whether the engine computes what the model defines.
    speed : Speed or None
        Latency against the model that was given.
    report : dict
        All of the above as plain objects, for JSON.
    """

    def __init__(self) -> None:
        self.source: Any = None
        self.output: Path | None = None
        self.quantized: Model
        self.plan: Plan
        self.target: Target
        self.compared: CompareReport | None = None
        self.goal: GoalReport | None = None
        self.engine_check: EngineCheck | None = None
        self.speed: Speed | None = None
        self._model: Any = None

    def write(self) -> None:
        self._model = hand_over(self.quantized, self.source, self.output)

    @property
    def model(self) -> Any:
        if self._model is None:
            self.write()
        return self._model

    @property
    def sqnr_db(self) -> float:
        """SQNR in dB of the worst output; NAN: not measured."""
        return self.compared.worst_db if self.compared is not None else math.nan

    @property
    def speedup(self) -> float:
        """Latency of the given model / latency of this one; NAN: not measured."""
        return self.speed.after.speedup if self.speed is not None else math.nan

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = {"target": self.target.name, "plan": plain(self.plan.summary)}
        for name in ("compared", "goal", "engine_check", "speed"):
            value = getattr(self, name)
            found[name] = plain(value) if value is not None else None
        return found

    def __repr__(self) -> str:
        s = self.plan.summary
        parts = [f"{s.n_tensors} tensors and {s.n_weights} weights for {s.target}"]
        if self.compared is not None:
            parts.append(f"SQNR {self.sqnr_db:.2f} dB")
        if self.speed is not None:
            parts.append(f"{self.speedup:.2f} times as fast")
        return f"<qdq.QuantizeResult: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        rows = [("target", self.target.name)]
        rows += [(c.what, f"{c.n} in 8 bits") for c in self.plan.summary.quantized]
        rows += [(c.what, f"{c.n} float") for c in self.plan.summary.left_float]
        if self.compared is not None:
            rows += [(f"SQNR of {o.name}", f"{o.sqnr_db:.2f} dB") for o in self.compared.outputs]
        if self.speed is not None:
            a = self.speed.after
            rows.append(("speedup", f"{a.speedup:.2f} ({a.ci_low:.2f} to {a.ci_high:.2f})"))
        return html_table(rows)

    def plot(self, ax: Any = None) -> Any:
        """Draws the SQNR of each output with matplotlib, and returns the axes."""
        if self.compared is None:
            raise errors.UsageError("plot: nothing was measured, expected samples")
        return plot_bars(
            {o.name: o.sqnr_db for o in self.compared.outputs if math.isfinite(o.sqnr_db)},
            "SQNR, dB",
            ax,
        )


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    import html

    cells = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"


def plot_bars(values: Mapping[str, float], label: str, ax: Any) -> Any:
    if ax is None:
        import matplotlib.pyplot

        ax = matplotlib.pyplot.subplots()[1]
    ax.barh(list(values), list(values.values()))
    ax.set_xlabel(label)
    ax.invert_yaxis()
    return ax


def plain(value: Any) -> Any:
    """Objects of this package as dicts and lists."""
    if isinstance(value, Record):
        return {name: plain(v) for name, v in value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


# --- options --------------------------------------------------------------------------------------


def open_target(target: Any, engine: str, o: Mapping[str, Any]) -> Target:
    """The target with the formats of the options; made for the engine where none is named."""
    if target is None:
        target = TARGET_OF_ENGINE.get(engine, "ort-cpu")
    made = Target(target)
    changes: dict[str, Any] = {}
    if o["format"] is not None:
        if o["format"] not in PRESETS:
            raise errors.UsageError(
                f"format: found {o['format']!r}, expected one of {', '.join(map(repr, PRESETS))}"
            )
        changes.update(PRESETS[o["format"]])
    for name, keys in FORMATS.items():
        if o[name] is not None:
            changes.update(keys(o[name]))
    given = o["set"] or {}
    if (
        o["weight_type"] is not None or "weight.type" in given
    ) and "without_vnni" in made.to_dict():
        changes["without_vnni"] = "as-it-is"
    changes.update(given)
    if changes:
        made._change(changes)
    return made


def pipeline_of(o: Mapping[str, Any]) -> str | None:
    """The passes that run before placement."""
    fold = {"input": "fold_input_bytes", "output": "fold_output_bytes", "growth": "growth_budget"}
    given = [n for n in (*fold.values(), "no_fold", "fold_only") if o[n] is not None]
    if not o["optimize"]:
        if given or o["passes"]:
            raise errors.UsageError(
                f"optimize=False: conflicts with {(given or ['passes'])[0]}; expected one of them"
            )
        return _core.text(lib.QDQ_PASSES_MINIMAL)
    passes = o["passes"] or "quantize"
    if not given:
        return str(passes)
    words = [f"{word}={o[name] if o[name] is not None else 1 << 20}" for word, name in fold.items()]
    words += [f"only={op}" for op in o["fold_only"] or ()]
    words += [f"no={op}" for op in o["no_fold"] or ()]
    return f"{passes},fold-constants:{'+'.join(words)}"


# --- samples --------------------------------------------------------------------------------------


def split_samples(have: int, want: int, judge: bool) -> Split:
    """An eighth evaluates, at least one sample and at most as many as a good mean needs."""
    want = min(want, have) if want > 0 else have
    s = Split(calibrate=want)
    if not judge:
        return s
    s.judge = min(max(want // 8, 1), MOST_JUDGES)
    if have < 2:
        s.judge = have
        return s
    if s.judge > have - want and want < have:
        s.judge = have - want
    if want == have:
        s.calibrate = have - s.judge
    s.first, s.held_back = s.calibrate, True
    return s


class Samples:
    """What calibrates and what evaluates."""

    def __init__(self, model: Model, job: Job, o: Mapping[str, Any]) -> None:
        self.eval: Data | None = None
        judge = bool(o["sqnr"])
        hold_back = judge and o["eval"] is None
        calib = o["calib"] if o["calib"] is not None else "random:0"
        self.want, at_most = int(o["samples"]), 0
        if isinstance(calib, str) and calib.startswith("random:"):
            self.want = self.want or RANDOM_SAMPLES
            at_most = self.want + max(self.want // 8, 1) if hold_back else self.want
        labels = o["labels"]
        self.data = open_data(calib, model, job, o, labels if hold_back else None, at_most)
        have = len(self.data)
        if self.want > have:
            _core.logger.warning("samples: found %d, expected %d", have, self.want)
        self.split = split_samples(have, self.want, hold_back)
        self.is_real = o["calib"] is not None and not self.data.is_random
        if judge and o["eval"] is not None:
            try:
                self.eval = open_data(o["eval"], model, job, o, labels, argument="eval")
            except BaseException:
                self.data.close()
                raise
            self.split.first, self.split.judge = 0, len(self.eval)
            self.split.held_back = True

    @property
    def judges(self) -> Data:
        """The samples that evaluate."""
        return self.eval if self.eval is not None else self.data

    @property
    def timed(self) -> Data:
        """Those of which the first is timed, and with which the engine is verified."""
        return self.judges if self.split.judge > 0 else self.data

    def split_for_goal(self) -> None:
        """Few samples are cross-validated; of more, at least LEAST_JUDGES are held out."""
        s, have = self.split, len(self.data)
        want = min(self.want, have) if self.want > 0 else have
        rest = have - want
        if self.eval is not None or have < 2 or s.judge == 0 or self.data.is_random:
            return
        if rest >= LEAST_JUDGES // 2 or want >= FEW_SAMPLES:
            s.judge = max(s.judge, LEAST_JUDGES)
            if LEAST_JUDGES // 2 <= rest < s.judge:
                s.judge = rest
            s.calibrate = want if rest >= s.judge else have - s.judge
            s.first = s.calibrate
        elif want >= 2:
            self.split = Split(calibrate=want, judge=want, held_back=True, folds=FOLDS)

    def split_without_goal(self) -> None:
        """Undoes the folds."""
        if self.split.folds:
            n = self.split.calibrate
            self.split = split_samples(n, n, True)

    def close(self) -> None:
        for data in (self.data, self.eval):
            if data is not None:
                data.close()


# --- the work -------------------------------------------------------------------------------------


class Quantizing:
    """One call of quantize()."""

    def __init__(self, source: Any, o: dict[str, Any]) -> None:
        self.o = o
        self.began = time.monotonic()
        self.job = Job(o["progress"])
        self.threads = threads_of(o["threads"])
        self.result = QuantizeResult()
        self.result.source, self.result.output = source, o["output"]
        self.model = open_model(source)
        if o["set_shape"]:
            self.model = self.model.set_shapes(o["set_shape"])
        self.wrong: list[str] = []
        self.search_ends = 0.0
        self.samples: Samples
        self.engine: Engine
        self.own_engine = False
        self.target: Target

    def open(self) -> None:
        o = self.o
        spec = o["engine"]
        self.target = open_target(o["target"], split(spec), o)
        self.samples = Samples(self.model, self.job, o)
        if isinstance(spec, Engine):
            self.engine = spec
        else:
            given = {name: o[name] for name in ENGINE_OPTIONS if o[name] is not None}
            self.engine = Engine(spec, job=self.job, **given)
        self.own_engine = self.target.engine == self.engine.name
        if self.seeks_goal:
            self.samples.split_for_goal()

    @property
    def split(self) -> Split:
        return self.samples.split

    @property
    def has_goal(self) -> bool:
        return bool(self.o["min_sqnr"]) or self.o["max_drop"] is not None

    @property
    def by_default(self) -> bool:
        o = self.o
        return (
            o["min_sqnr"] is None
            and o["max_drop"] is None
            and self.samples.is_real
            and bool(o["sqnr"])
        )

    @property
    def seeks_goal(self) -> bool:
        return self.engine.runs if self.by_default else self.has_goal

    def options(self) -> Options:
        options = Options("qdq_quantize_opts", self.job)
        options.fill(OPTIONS, self.o)
        options.set("passes", pipeline_of(self.o))
        options.set("samples", self.split.calibrate)
        options.set("threads", self.threads)
        options.set("wrong", self.wrong or None)
        return options

    def make(self) -> None:
        """Plan and model; with a goal, as near to it as it goes."""
        plan, out = ffi.new("qdq_plan **"), ffi.new("qdq_model **")
        args = (self.model.c, self.target.c, self.engine.c, self.samples.data.c)
        made = self.seeks_goal and self.make_for_goal(args, plan, out)
        if not made:
            self.job.run(lib.qdq_quantize, *args, self.options().c, plan, out)
        self.result.plan = Plan._of(plan[0])
        self.result.quantized = Model._of(out[0], self.model)

    def make_for_goal(self, args: Sequence[Any], plan: Any, out: Any) -> bool:
        """False: the outputs cannot be compared, and no goal was given."""
        o = self.o
        if not self.engine.runs:
            raise errors.UnsupportedError(
                f"engine {self.engine.name} gives no outputs: no goal can be measured"
            )
        goal = Options("qdq_goal_opts")
        goal.set("by_default", self.by_default)
        goal.set("min_sqnr", float(o["min_sqnr"] or 0))
        goal.set("max_drop", -1.0 if o["max_drop"] is None else float(o["max_drop"]))
        goal.set("folds", self.split.folds)
        goal.set("first", self.split.first)
        goal.set("count", self.split.judge)
        goal.set("max_slowdown", MAX_SLOWDOWN)
        goal.set("eval", self.samples.eval.c if self.samples.eval is not None else None)
        if o["times"] is not None:
            times = Plan(o["times"])
            goal.keep.append(times)
            goal.set("times", times.c)
            goal.set("times_name", "times")
        now = time.monotonic()
        if self.search_ends:
            goal.set("limit_s", max(self.search_ends - now, 0) or -1.0)
        found = ffi.new("qdq_goal_result **")
        options = self.options()
        status, err = self.job.status(
            lib.qdq_quantize_goal, *args, options.c, goal.c, plan, out, found
        )
        if status == lib.QDQ_E_UNSUPPORTED and self.by_default and not (o["labels"] or o["eval"]):
            self.samples.split_without_goal()
            return False
        _core.raise_for(status, err)
        try:
            goal_report: GoalReport = read(found[0])
            self.result.goal, self.result.compared = goal_report, goal_report.compared
            if not self.search_ends and found[0].limit_s > 0:
                self.search_ends = now + float(found[0].limit_s)
        finally:
            lib.qdq_goal_result_free(found[0])
        return True

    def verified(self) -> None:
        """Nodes that the engine computes wrongly go back to float."""
        for i in range(TRIES):
            self.make()
            if not (self.samples.is_real and self.o["sqnr"] and self.own_engine):
                return
            found = self.ask()
            if found is None:
                return
            checked: EngineCheck = read(found)
            self.result.engine_check = checked
            if checked.verdict == "unknown":
                _core.logger.warning(
                    "unknown whether the engine computes the model correctly: %s", checked.why
                )
            if checked.verdict != "wrong":
                return
            alike = self.find_alike(found, i > 0) if i + 1 < TRIES else []
            if not alike:
                raise errors.EngineError(checked.why)
            self.wrong += alike
            _core.logger.warning("%d nodes of that form stay float: %s", len(alike), checked.why)
            self.result.goal = self.result.compared = None

    def ask(self) -> Any:
        """Does the engine compute the model as the graph says? None: it does not run there."""
        options = Options("qdq_verify_opts", self.job)
        judge = self.split.judge
        count = 1 if judge == 0 else min(judge, 2)
        reference = None
        if self.engine.name not in ("ort", "sim"):
            try:
                reference = Engine("ort", job=self.job)
            except errors.EngineError:
                pass
        options.set("reference", reference.c if reference is not None else None)
        options.set("original", self.model.c)
        options.set("threads", self.threads)
        options.set("first", self.split.first if judge > 0 else 0)
        options.set("count", count)
        options.set("confirm", min(judge - count, 6) if judge > count else 0)
        out = ffi.new("qdq_verify_result **")
        status, err = self.job.status(
            lib.qdq_verify_engine,
            self.result.quantized.c,
            self.engine.c,
            self.samples.timed.c,
            options.c,
            out,
        )
        if reference is not None:
            reference.close()
        if status in (lib.QDQ_E_ENGINE, lib.QDQ_E_UNSUPPORTED):
            return None  # a model that does not run is reported where outputs are compared
        _core.raise_for(status, err)
        return ffi.gc(out[0], lib.qdq_free)

    def find_alike(self, found: Any, wide: bool) -> list[str]:
        labels, n = ffi.new("char const ***"), ffi.new("size_t *")
        _core.call(lib.qdq_verify_equivalent, self.result.quantized.c, found, wide, labels, n)
        try:
            return [_core.text(labels[0][i]) for i in range(n[0])]
        finally:
            lib.qdq_free(labels[0])

    def judge(self) -> None:
        if self.split.judge == 0 or self.result.compared is not None:
            return
        if not self.engine.runs:
            _core.logger.warning("engine %s gives no outputs: no SQNR", self.engine.name)
            return
        options = Options("qdq_compare_opts", self.job)
        options.set("threads", self.threads)
        options.set("shapes", self.o["shape"])
        options.set("first", self.split.first)
        options.set("count", self.split.judge)
        out = ffi.new("qdq_compare_result **")
        status, err = self.job.status(
            lib.qdq_compare,
            self.engine.c,
            self.model.c,
            self.result.quantized.c,
            self.samples.judges.c,
            options.c,
            out,
        )
        asked = self.has_goal or self.o["labels"] is not None or self.o["eval"] is not None
        if status == lib.QDQ_E_UNSUPPORTED and not asked:
            _core.logger.warning(
                "no SQNR, the outputs cannot be compared: %s", _core.text(err.text)
            )
            return
        _core.raise_for(status, err)
        try:
            self.result.compared = read(out[0])
        finally:
            lib.qdq_free(out[0])

    def answer(self) -> None:
        """The goal that was given is reached; what the default one misses is a warning."""
        goal = self.result.goal
        if goal is None or goal.reached:
            return
        if self.has_goal and not self.o["best_effort"]:
            raise errors.GoalNotReached(
                "the goal is not reached by any model with a layer in 8 bits; "
                f"{goal.why} (best_effort=True returns what came nearest)",
                self.result,
            )
        if self.by_default:
            goal_db = f"{lib.QDQ_DEFAULT_MIN_SQNR:g} dB"
            if goal.is_slower:
                said = f"nothing was quantized: {goal_db} can be reached, but {goal.why}"
            elif goal.is_float:
                said = (
                    "nothing was quantized: no plan that saves a tenth of the time reaches "
                    f"{goal_db}; {goal.why}"
                )
            else:
                said = f"the goal of {goal_db} is missed: {goal.why}"
            warnings.warn(said, errors.AccuracyWarning, stacklevel=4)

    def bench(self) -> None:
        """In turns with the given model, for at most 2 s and at most as long as the rest took."""
        if not self.o["bench"] or not self.own_engine or not self.engine.times:
            return
        all_s = min(2.0, max(0.05, time.monotonic() - self.began))
        ends = time.monotonic() + all_s
        try:
            times = self.time_both(False, ends)
            fixed = None
            if self.result.quantized.is_open:
                fixed = self.time_both(True, ends - 0.2 * all_s)[1]
        except (errors.EngineError, errors.UnsupportedError) as e:
            _core.logger.warning("speed not measured: %s", e)
            return
        self.result.speed = Speed(times[0], times[1], fixed)
        after, s = times[1], self.result.plan.summary
        if s.n_tensors + s.n_weights + s.n_biases > 0 and after.ci_low <= 1:
            warnings.warn(
                f"{'slower' if after.ci_high < 1 else 'not faster'} than the model that was given: "
                f"{after.speedup:.2f} times its speed (95 % interval {after.ci_low:.2f} to "
                f"{after.ci_high:.2f}); autotune() measures which layers are faster in 8 bits",
                errors.SpeedWarning,
                stacklevel=4,
            )

    def time_both(self, fixed: bool, ends: float) -> tuple[Times, Times]:
        options = Options("qdq_bench_opts", self.job)
        inputs, n = ffi.new("qdq_named_array const **"), ffi.new("size_t *")
        first = self.split.first if self.split.judge > 0 else 0
        self.job.run(lib.qdq_data_get, self.samples.timed.c, first, inputs, n)
        options.c.inputs, options.c.n_inputs = inputs[0], n[0]
        options.set("max_ms", max((ends - time.monotonic()) * 1e3, 1.0))
        shapes: Shapes | None = None
        if fixed:
            shapes = {
                _core.text(a.name): [a.array.dim[k] for k in range(a.array.rank)]
                for a in (inputs[0][i] for i in range(n[0]))
            }
        out = ffi.new("qdq_bench_model[2]")
        with (
            Session(self.engine, self.model, self.job, self.threads, shapes) as a,
            Session(self.engine, self.result.quantized, self.job, self.threads, shapes) as b,
        ):
            both = ffi.new("qdq_session *[2]", [a.c, b.c])
            self.job.run(lib.qdq_bench, both, 2, options.c, out)
        return read(out[0]), read(out[1])

    def close(self) -> None:
        if hasattr(self, "samples"):
            self.samples.close()
        engine = getattr(self, "engine", None)
        if engine is not None and engine is not self.o["engine"]:
            engine.close()


def quantize(
    model: Any,
    *,
    output: Path | None = None,
    calib: Any = None,
    target: Target | Path | Mapping[str, Any] | None = None,
    # what is quantized
    exclude: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    op_types: Sequence[str] | None = None,
    exclude_op_types: Sequence[str] | None = None,
    optimize: bool = True,
    passes: str | None = None,
    no_fold: Sequence[str] | None = None,
    fold_only: Sequence[str] | None = None,
    fold_input_bytes: int | None = None,
    fold_output_bytes: int | None = None,
    growth_budget: int | None = None,
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
    bias: str | None = None,
    rest: str | None = None,
    rest_keep: Sequence[str] | None = None,
    direct_io: bool | None = None,
    cpu: str | None = None,
    set: Mapping[str, Any] | None = None,
    # calibration
    samples: int = 0,
    method: str | None = None,
    percentile: float | None = None,
    equalize: bool = False,
    bias_correction: str | bool | None = None,
    cache: Path | None = None,
    memory: int | None = None,
    threads: int = 0,
    # accuracy
    sqnr: bool = True,
    min_sqnr: float | None = None,
    max_drop: float | None = None,
    labels: Any = None,
    eval: Any = None,
    times: Plan | Path | None = None,
    best_effort: bool = False,
    bench: bool = True,
    # data
    image_size: tuple[int, int] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "auto",
    channel_order: str = "auto",
    shape: Shapes | None = None,
    set_shape: Shapes | None = None,
    # engine
    engine: str | Engine = "ort",
    ort_library: Path | None = None,
    openvino_library: Path | None = None,
    providers: Sequence[str] | None = None,
    plugin_libraries: Sequence[str] | None = None,
    engine_timeout: float | None = None,
    trtexec: Path | None = None,
    trtexec_args: str | None = None,
    timing_cache: Path | None = None,
    progress: Progress = False,
) -> QuantizeResult:
    """Calibrates a model, places Q/DQ by the target's rules, and returns the model.

    Options are those of ``qdq quantize`` (docs/cli.md), with ``_`` for ``-``; their defaults and
    their effects are the same. The same options give the same bytes.

    Parameters
    ----------
    model
        A path, bytes, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a `Model`. It is not changed;
        the result is of the same kind.
    output
        Write the model to this path.
    calib
        Samples: a path (``.npz``, ``.npy``, a folder of these or of images), ``"random:SEED"``, a
        dict of arrays whose first axis counts samples, an iterable or generator of dicts (one
        sample each), ``(iterable, transform)``, or a ``CalibrationDataReader`` of ONNX Runtime.
        Arrays are of numpy, or have ``__array__`` or ``__dlpack__``. None: random input, whose
        scales mean nothing.
    target
        Name, path or description of the rules; None: those of the engine.
    exclude, include
        Names of nodes, as regular expressions or ``"=NAME"``.
    set
        Keys of the target: ``{"activation.type": "int8"}``.
    bias_correction
        ``"auto"``, ``"on"``, ``"off"``, or a bool.
    min_sqnr : float, dB
        Layers return to float until every output has it. 0: no goal. None: 20 dB with real samples.
    max_drop : float, share
        Layers return to float until the accuracy drops by no more: 0.005 is half a point. Needs
        `labels`.
    labels
        Key of an array in `calib`: its ``.npz``, dict, or dicts; or a file; or an array where
        `calib` is a dict of arrays.
    eval
        Samples to evaluate on, in a form of `calib`.
    threads
        Of the engine; 0: all. The number affects last digits of scales.
    progress
        True: a bar of tqdm. A function gets (stage, done, total); total 0: unknown.

    Returns
    -------
    QuantizeResult

    Raises
    ------
    GoalNotReached
        `min_sqnr` or `max_drop` is missed, without `best_effort`. Its `nearest` is the result.
    FormatError, UnsupportedError, EngineError, UsageError, OutOfMemory, Cancelled
        See `qdq.errors`.

    Warns
    -----
    AccuracyWarning
        The default goal is missed.
    SpeedWarning
        The result is not faster.

    Examples
    --------
    >>> result = qdq.quantize("model.onnx", calib={"x": images}, output="model.qdq.onnx")
    >>> result.sqnr_db, result.speedup
    """
    o = dict(locals())
    o.pop("model")
    if isinstance(bias_correction, bool):
        o["bias_correction"] = "on" if bias_correction else "off"
    check_options(o)
    q = Quantizing(model, o)
    try:
        q.open()
        q.verified()
        q.judge()
        q.answer()
        if output is not None:
            q.result.write()
        q.bench()
    finally:
        q.close()
    q.result.target = q.target
    return q.result


def check_options(o: Mapping[str, Any]) -> None:
    judging = next(
        (n for n in ("max_drop", "min_sqnr", "labels", "eval") if o[n] is not None), None
    )
    if judging is not None and not o["sqnr"]:
        raise errors.UsageError(f"found {judging} where nothing is measured: sqnr=False")
    if o["max_drop"] is not None and o["labels"] is None:
        raise errors.UsageError("found max_drop without labels")
    if o["max_drop"] is not None and not 0 <= o["max_drop"] <= 1:
        raise errors.UsageError(f"max_drop: found {o['max_drop']!r}, expected a share from 0 to 1")
    if o["labels"] is not None and o["calib"] is None and o["eval"] is None:
        raise errors.UsageError("found labels without calib or eval")
    if o["best_effort"] and not o["min_sqnr"] and o["max_drop"] is None:
        raise errors.UsageError("found best_effort without min_sqnr or max_drop")
    if o["percentile"] is not None and not 50 < o["percentile"] <= 100:
        raise errors.UsageError(
            f"percentile: found {o['percentile']!r}, expected more than 50 and at most 100"
        )
    if o["samples"] < 0 or o["threads"] < 0:
        raise errors.UsageError("samples, threads: expected 0 or more")
