"""Targets and plans."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._arguments import flag, wrong
from ._core import Job, Path, call, make, read
from ._model import Model, ModelSource, kind_of, open_model
from ._qdq import ffi, lib
from ._records import PlanSummary, TargetDifference
from ._show import html_table, rows_of
from .errors import FormatError, UsageError


class Target:
    """What an engine runs in 8 bits (docs/targets.md).

    Parameters
    ----------
    source
        A built-in name (`Target.names`), a path, a description as a dict, or another target.
    **changes
        Keys of the description with ``__`` for a dot: ``activation__type="int8"``.

    Raises
    ------
    UsageError
        There is no such target.
    FormatError
        A mistake in the description, with key and what was expected.
    """

    def __init__(
        self, source: Target | Path | Mapping[str, Any] = "ort-cpu", **changes: Any
    ) -> None:
        if isinstance(source, (Target, Mapping)):
            made = load_described(source.to_dict() if isinstance(source, Target) else source)
        elif isinstance(source, (str, os.PathLike)):
            made = make(lib.qdq_target_load, _core.encode(source))
        else:
            raise TypeError(
                f"target: found {type(source).__name__}, expected a name, a path or a dict"
            )
        self._c = ffi.gc(made, lib.qdq_target_free)
        if changes:
            self._change({key.replace("__", "."): value for key, value in changes.items()})

    @staticmethod
    def names() -> tuple[str, ...]:
        """The built-in targets."""
        names: list[str] = []
        while (name := lib.qdq_target_name(len(names), ffi.NULL)) != ffi.NULL:
            names.append(_core.text(name))
        return tuple(names)

    def _change(self, changes: Mapping[str, Any]) -> None:
        """All at once: some are right only together."""
        at = ffi.new("qdq_target_change[]", len(changes))
        keep = []
        for c, (key, value) in zip(at, changes.items()):
            said = value if isinstance(value, str) else json.dumps(value, default=plain_value)
            keep += [ffi.new("char[]", key.encode()), ffi.new("char[]", said.encode())]
            c.key, c.value = keep[-2:]
        call(lib.qdq_target_set_all, self._c, at, len(changes))

    @property
    def c(self) -> Any:
        return self._c

    @property
    def name(self) -> str:
        """``"ort-cpu"``."""
        return _core.text(lib.qdq_target_get_name(self._c))

    @property
    def engine(self) -> str:
        """The engine whose speed the rules are about: ``"ort"``; ``""`` if none is named."""
        return _core.text(lib.qdq_target_engine(self._c))

    def to_dict(self) -> dict[str, Any]:
        """The whole description."""
        found: dict[str, Any] = json.loads(_core.text(lib.qdq_target_text(self._c)))
        return found

    def differences(self, other: Target) -> tuple[TargetDifference, ...]:
        """The keys that two targets have otherwise."""
        out, n = ffi.new("qdq_target_difference **"), ffi.new("size_t *")
        call(lib.qdq_target_compare, self._c, other.c, out, n)
        try:
            return tuple(read(out[0][i]) for i in range(n[0]))
        finally:
            lib.qdq_free(out[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Target, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"<qdq.Target {self.name}>"

    def _repr_html_(self) -> str:
        rows = []
        for key, value in self.to_dict().items():
            said = value if isinstance(value, str) else json.dumps(value)
            rows.append((key, said if len(said) <= 200 else f"{len(value)} entries"))
        return html_table(rows)


def plain_value(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's, for JSON."""
    convert = getattr(value, "tolist", None)
    if convert is None:
        raise wrong("target", value, "texts, numbers, lists and dicts")
    return convert()


def load_described(described: Mapping[str, Any]) -> Any:
    """A description in memory: through a file, as the library reads targets from files alone."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", prefix="qdq-", suffix=".json") as file:
        json.dump(described, file, default=plain_value)
        file.flush()
        try:
            return make(lib.qdq_target_load, _core.encode(file.name))
        except (FormatError, UsageError) as e:
            raise type(e)(str(e).replace(file.name, "target")) from None


class Plan:
    """Which tensors carry Q/DQ with which scale, and why the others do not (docs/plan.md).

    Parameters
    ----------
    source
        A path, the text of a plan, a dict, or another plan.

    Examples
    --------
    >>> plan = qdq.quantize("model.onnx", calib="calib.npz").plan
    >>> plan == qdq.Plan("plan.json")
    """

    def __init__(self, source: Plan | Path | Mapping[str, Any]) -> None:
        if isinstance(source, Plan):
            source = source.to_json()
        elif isinstance(source, Mapping):
            source = json.dumps(source)
        if isinstance(source, str) and source.lstrip().startswith("{"):
            data = source.encode()
            made = make(lib.qdq_plan_parse, data, len(data), b"plan")
        elif isinstance(source, (str, os.PathLike)):
            made = make(lib.qdq_plan_load, _core.encode(source))
        else:
            raise wrong("plan", source, "a path, the text of a plan, a dict or a qdq.Plan")
        self._c = ffi.gc(made, lib.qdq_plan_free)

    @classmethod
    def _of(cls, c: Any) -> Plan:
        plan = cls.__new__(cls)
        plan._c = ffi.gc(c, lib.qdq_plan_free)
        return plan

    @property
    def c(self) -> Any:
        return self._c

    def to_json(self) -> str:
        """The text of its file."""
        return _core.take_text(lib.qdq_plan_to_text, self._c)

    def to_dict(self) -> dict[str, Any]:
        """The same as objects of Python."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def save(self, path: Path, *, force: bool = True) -> None:
        """Writes the plan; `force` replaces a file that is there."""
        call(lib.qdq_plan_save, self._c, _core.encode(path), flag("force", force))

    def save_ranges(self, path: Path, *, force: bool = True) -> None:
        """Writes the ranges as a calibration cache: ``X.json`` as JSON, else in TensorRT's form."""
        call(lib.qdq_plan_save_ranges, self._c, _core.encode(path), flag("force", force))

    @property
    def summary(self) -> PlanSummary:
        """Counts of what it quantizes and leaves float, with reasons."""
        found: PlanSummary = read(lib.qdq_plan_get_summary(self._c))
        return found

    def apply(
        self,
        model: ModelSource,
        *,
        force: bool = False,
        output: Path | None = None,
        external_data: str | None = None,
    ) -> Any:
        """`model` with the Q/DQ of this plan, as the same kind of object.

        Parameters
        ----------
        model
            The model that the plan was made for; see `Model`.
        force
            Apply it to another model, too.
        output
            Write the model to this path.
        external_data
            As of `quantize`.

        Returns
        -------
        model
            Of the same kind as `model`; the path of `output` where that was a path.

        Raises
        ------
        FormatError, UnsupportedError, UsageError, FileError, OutOfMemory, Cancelled
            See `qdq.errors`.
        """
        reject_external({"output": output, "external_data": external_data})
        own = open_model(model)
        job = Job()
        made = job.make(lib.qdq_plan_apply, self._c, own.c, flag("force", force), job.c)
        return hand_over(Model._of(made, own), model, output, external_data)

    def diff(self, other: Plan) -> str:
        """What `other` has otherwise, as a unified diff of both texts; ``""`` if nothing."""
        import difflib

        a, b = (p.to_json().splitlines() for p in (self, other))
        return "\n".join(difflib.unified_diff(a, b, "plan", "other", lineterm=""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> Any:
        return Plan, (self.to_json(),)

    def __repr__(self) -> str:
        s = self.summary
        return (
            f"<qdq.Plan for {s.target}: {s.n_tensors} tensors, {s.n_weights} weights, "
            f"{s.n_biases} biases>"
        )

    def _repr_html_(self) -> str:
        return html_table(rows_of(self.summary))


def reject_external(given: Mapping[str, Any]) -> None:
    if given["external_data"] is not None and given["output"] is None:
        raise UsageError("found external_data without output")


def hand_over(made: Model, source: Any, output: Path | None, external: str | None = None) -> Any:
    """A new model as the kind that `source` is; written to `output` if that is given."""
    if output is not None:
        made.save(output, external=external or "auto")
    kind = kind_of(source)
    if kind == "path" and output is not None:
        return os.fspath(output)
    return made.to_kind(kind)
