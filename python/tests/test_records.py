"""Results have every member that the C structs have."""

from __future__ import annotations

import pytest

from qdq import _records
from qdq._qdq import ffi


@pytest.mark.parametrize("struct", sorted(_records.CLASSES))
def test_a_record_has_all_members(struct):
    have = {name.rstrip("_") for name in _records.CLASSES[struct].__annotations__}
    lengths = {_records.LENGTHS.get(name, f"n_{name}") for name in have}
    members = {name for name, _ in ffi.typeof(struct).fields}
    objects = {"plan", "model"} if struct == "qdq_ptq_result" else set()  # of classes of their own
    assert members - have - lengths - {"size", "ctx"} - objects == set()
