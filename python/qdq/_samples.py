"""Which samples calibrate, and which evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Job, read
from ._data import Data, open_data
from ._model import Model
from ._qdq import ffi, lib
from ._records import Split


class Samples:
    """What calibrates and what evaluates."""

    def __init__(self, model: Model, job: Job, o: Mapping[str, Any]) -> None:
        self.eval: Data | None = None
        self.evaluates = o["sqnr"]
        hold_out = self.evaluates and o["eval"] is None
        calib = o["calib"] if o["calib"] is not None else "random:0"
        self.most, at_most = o["samples"], 0
        if isinstance(calib, str) and calib.startswith("random:"):
            at_most = lib.qdq_split_random(self.most, uses_of(hold_out))
        labels = o["labels"]
        self.data = open_data(
            calib, model, job, o, labels=labels if hold_out else None, max_samples=at_most
        )
        if self.most > len(self.data):
            _core.logger.warning("samples: found %d, expected %d", len(self.data), self.most)
        if self.evaluates and o["eval"] is not None:
            try:
                self.eval = open_data(o["eval"], model, job, o, labels=labels, argument="eval")
            except BaseException:
                self.data.close()
                raise

    def split(self, for_goal: bool, rounds: bool) -> Split:
        """Which of them calibrate, and which evaluate. `rounds`: they round weights, too."""
        uses = uses_of(self.evaluates, for_goal, rounds)
        found: Split = read(lib.qdq_split_samples(self.data.c, self.eval_c, self.most, uses))
        return found

    @property
    def eval_c(self) -> Any:
        return self.eval.c if self.eval is not None else ffi.NULL

    def close(self) -> None:
        for data in (self.data, self.eval):
            if data is not None:
                data.close()


def uses_of(evaluates: bool, for_goal: bool = False, rounds: bool = False) -> int:
    return int(
        lib.QDQ_SPLIT_CALIBRATE
        | (lib.QDQ_SPLIT_EVALUATE if evaluates else 0)
        | (lib.QDQ_SPLIT_GOAL if evaluates and for_goal else 0)
        | (lib.QDQ_SPLIT_ROUND if rounds else 0)
    )
