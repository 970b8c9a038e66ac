"""Structs of the public headers that are results -> Python classes with the same members."""

from __future__ import annotations

import keyword
import re

# Structs, in an order in which each follows those that it holds.
STRUCTS = {
    "qdq_finding": "Finding",
    "qdq_target_finding": "TargetFinding",
    "qdq_target_check": "TargetCheck",
    "qdq_compare_tensor": "OutputDifference",
    "qdq_compare_result": "CompareReport",
    "qdq_compare_layer": "LayerError",
    "qdq_compare_layers_result": "LayerReport",
    "qdq_verify_result": "EngineCheck",
    "qdq_bench_model": "Times",
    "qdq_refusal": "Refusal",
    "qdq_pass_report": "PassReport",
    "qdq_optimize_report": "OptimizeReport",
    "qdq_plan_count": "PlanCount",
    "qdq_plan_rounding": "PlanRounding",
    "qdq_plan_summary": "PlanSummary",
    "qdq_goal_step": "GoalStep",
    "qdq_goal_layer": "GoalLayer",
    "qdq_goal_seconds": "GoalSeconds",
    "qdq_goal_result": "GoalReport",
    "qdq_split": "Split",
    "qdq_ptq_warning": "QuantizeWarning",
    "qdq_ptq_speed": "SpeedReport",
    "qdq_ptq_result": "QuantizeReport",
    "qdq_target_difference": "TargetDifference",
    "qdq_why_note": "WhyNote",
    "qdq_tune_not_expressed": "NotExpressed",
    "qdq_tune_baseline": "Baseline",
    "qdq_tune_overruled": "Overruled",
    "qdq_tune_typed": "TypeChange",
    "qdq_tune_point": "ParetoPoint",
    "qdq_tune_accuracy": "TunedAccuracy",
    "qdq_tune_other_dims": "OtherDims",
    "qdq_tune_result": "TuneReport",
    "qdq_tune_live": "TuneProgress",
    "qdq_tune_quarantined": "Quarantined",
    "qdq_tune_merge_result": "MergeReport",
    "qdq_statistics_summary": "StatisticsSummary",
}

NUMBERS = {
    "bool": "bool",
    "int": "int",
    "unsigned": "int",
    "size_t": "int",
    "int64_t": "int",
    "uint64_t": "int",
    "double": "float",
}

# Arrays whose length is not n_NAME.
LENGTHS = {"findings": "n", "left_float": "n_left", "at": "n"}

HEAD = '''"""Results of the library: made from include/qdq/*.h by declare.py. Do not edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Record:
    """What a function found. Members are those of the C struct, and cannot be changed."""

    # Not data classes: to make thirty of those takes most of the time of the import.
    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self.__dict__.items())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, texts and numbers, for JSON."""
        return {name: plain(value) for name, value in self}

    def __repr__(self) -> str:
        shown: list[str] = []
        for name, value in self:
            if sum(map(len, shown)) > 80:
                shown.append("...")
                break
            if isinstance(value, (tuple, Record)):
                value = f"<{len(value)}>" if isinstance(value, tuple) else "<...>"
            elif isinstance(value, float):
                value = f"{value:.4g}"
            else:
                value = repr(value)
            shown.append(f"{name}={value}")
        return f"{type(self).__name__}({', '.join(shown)})"


def plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    return [plain(v) for v in value] if isinstance(value, tuple) else value
'''

NOTE_BETWEEN = re.compile(r",\s*/\*.*?\*/", re.S)  # of one name in a list of names
MEMBER = re.compile(
    r"((?:\s*/\*(?:(?!\*/).)*\*/)*)\s*([^;/]+);((?:[ \t]*/\*(?:(?!\*/).)*\*/)?)", re.S
)


def note_of(*parts: str) -> str:
    text = re.sub(r"/\* --- .* ---+ \*/", "", " ".join(parts))  # of the members below
    text = " ".join(re.sub(r"\n\s*\* ?", " ", text).split())
    return re.sub(r"\s*\*/\s*/\*\s*|/\*\s*|\s*\*/", " ", text).strip()


def split_member(text: str) -> list[tuple[str, str, bool]]:
    """(type, name, is array of chars) for each name that a declaration has."""
    text = " ".join(text.split())
    kind, rest = re.match(r"((?:const |struct )*\w+)(.*)", text).groups()  # type: ignore
    out = []
    for part in rest.split(","):
        stars = part.count("*")
        array = re.search(r"\[(\w+)\]", part)
        name = re.sub(r"\[.*", "", part).replace("*", "").replace("const", "").strip()
        plain = kind.replace("const ", "").strip()
        if plain == "char" and (stars == 1 or array):
            out.append(("str", name, False))
        elif plain == "char" and stars == 2:
            out.append(("str", name, True))
        else:
            out.append((plain, name, stars > 0 or array is not None))
    return out


def python_type(kind: str, many: bool, enums: set[str]) -> str | None:
    if kind == "str" or kind in enums:
        base = "str"
    elif kind in NUMBERS:
        base = NUMBERS[kind]
    elif kind in STRUCTS:
        base = STRUCTS[kind]
    else:
        return None
    return f"tuple[{base}, ...]" if many else base


def members_of(body: str, enums: set[str]) -> list[tuple[str, str, str]]:
    """(name, type, note), counts of arrays left out."""
    found = []
    arrays = set()
    for before, text, behind in MEMBER.findall(NOTE_BETWEEN.sub(",", body)):
        for kind, name, many in split_member(text):
            found.append((kind, name, many, note_of(before, behind)))
            if many:
                arrays.add(name)
    out = []
    names = {name for _, name, _, _ in found}
    lengths = {LENGTHS.get(name, f"n_{name}") for name in arrays}
    for kind, name, many, note in found:
        if name in ("size", "ctx") or name in lengths:
            continue
        typed = python_type(kind, many, enums)
        if typed is None:
            continue
        if many and kind in STRUCTS and LENGTHS.get(name, f"n_{name}") not in names:
            typed = f"{STRUCTS[kind]} | None"  # a pointer to one
        out.append((name + "_" * keyword.iskeyword(name), typed, note))
    return out


def write(headers: str) -> str:
    enums = set(re.findall(r"typedef enum (\w+)", headers))
    bodies = dict(
        (name, body)
        for name, body in re.findall(r"(?:typedef )?struct (\w+) \{(.*?)\n\}[ \w]*;", headers, re.S)
    )
    out = [HEAD]
    for struct, name in STRUCTS.items():
        out.append(f"\n\nclass {name}(Record):")
        out.append(f'    """``{struct}``."""\n')
        for member, kind, note in members_of(bodies[struct], enums):
            for line in wrap(note):
                out.append(f"    #: {line}")
            out.append(f"    {member}: {kind}")
    out.append("\n\nCLASSES: dict[str, type[Record]] = {")
    out += [f'    "{struct}": {name},' for struct, name in STRUCTS.items()]
    out.append("}\n\nLENGTHS: dict[str, str] = {")
    out += [f'    "{name}": "{length}",' for name, length in LENGTHS.items()]
    out.append("}\n")
    return "\n".join(out)


def wrap(text: str) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) < 92:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
