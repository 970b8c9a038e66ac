"""Options have one type each: a value of another is an error that names the option."""

from __future__ import annotations

import inspect
import pathlib
import re

import numpy as np
import pytest

import qdq
from conftest import ROOT
from qdq._arguments import TYPES, check_types
from qdq._core import MEMBERS, Options
from qdq._quantize_options import FORMATS
from qdq._tune import NO_DETAIL, REGIONS
from qdq.compat import quantize_dynamic, quantize_static, simplify

SIM = f"sim:{ROOT}/tests/data/sim_basic.json"
FUNCTIONS = [
    qdq.quantize,
    qdq.autotune,
    qdq.optimize,
    qdq.compare,
    qdq.bench,
    qdq.check,
    qdq.import_plan,
    qdq.strip,
    qdq.calibrate,
]
# A value of the wrong type for each type, in turn.
WRONG = {
    "flag": ["no", "false", 0.3, 2, None, []],
    "number": ["30", "abc", b"1", True, [1.0], float("nan"), {}],
    "natural": ["10", 3.7, 3.0, True, [1], {}],
    "texts": [3, b"Add", {"Add": 1}, [3], [None]],
    "text": [3, ["int8"], b"int8", {}],
    "path": [3, b"a.onnx", ["a.onnx"]],
    "threads": ["10", 3.7, True, [1], {}],
    "text_or_auto": [3, ["nchw"], b"nchw", {}],
    "channels": ["127", ["1"], [None], {}, True],
    "size": [5, "224", (1, 2, 3), (1.5, 2), ("1", "2"), {}],
    "dictionary": ["activation.type=int8", ["a"], {1: 2}],
    "shapes": [[1], "x", {"x": 3}, {"x": "123"}, {"x": (1, 2.5)}, {3: (1,)}],
    "states": [[1], "x", {"t": 3}, {3: "s"}, {"t": ("s",)}],
    "function": [3, "accuracy"],
    "choice": [3, 0.5, []],
}
CASES = [
    (function, name, value)
    for function in FUNCTIONS
    for name in function.__kwdefaults__
    for value in WRONG.get(getattr(TYPES.get(name), "__name__", ""), [])
    if not (value is None and function.__kwdefaults__[name] is None)
]


def named(case):
    return getattr(case, "__name__", None) or repr(case)[:20]


@pytest.mark.parametrize("function", FUNCTIONS, ids=named)
def test_a_wrong_type_is_an_error_that_names_the_option(function):
    for _, name, value in (case for case in CASES if case[0] is function):
        arguments = 2 if function in (qdq.compare, qdq.calibrate) else 1
        with pytest.raises(TypeError, match=f"^{name}( of 'x')?: found .*, expected "):
            function(*["no.onnx"] * arguments, **{name: value})


@pytest.mark.parametrize("function", FUNCTIONS, ids=named)
def test_every_option_has_a_type(function):
    others = {"calib", "target", "labels", "eval", "times", "engine", "progress", "data", "check"}
    others |= {"client", "shards", "baselines", "part"}
    assert {*function.__kwdefaults__} <= {*TYPES, *others}


def test_an_option_of_several_functions_has_one_type_and_one_default():
    of_their_own = {"threads", "cache", "engine", "seed"}
    seen = {}
    for function in FUNCTIONS:
        for name, found in inspect.signature(function).parameters.items():
            if found.kind is found.KEYWORD_ONLY and name not in of_their_own:
                assert seen.setdefault(name, found) == found, f"{function.__name__}: {name}"


COMMANDS = {
    "quantize": qdq.quantize,
    "autotune": qdq.autotune,
    "calibrate": qdq.calibrate,
    "optimize": qdq.optimize,
    "bench": qdq.bench,
    "compare": qdq.compare,
    "check": qdq.check,
    "import": qdq.import_plan,
    "strip": qdq.strip,
}
# Options of the command line that have another name in Python.
RENAMED = {
    "provider": "providers",
    "pattern_cache": "pattern_caches",
    "qdq_baseline": "baselines",
    "metric_command": "metric",
    "asymmetric": "symmetric",
    "per_tensor": "per_channel",
    "compare per_tensor": "per_layer",
    "autotune output": "folder",
    "autotune type": "format",
    "accept": "strict",
    "incremental_validation": "validate_whole",
    "pool_share": "pool_fraction",
    "pool_least": "pool_min",
    "autotune force": "keep_finished",
}
# Options of the command line that no keyword is for, and why.
ELSEWHERE = {
    "force": "a path that is written is replaced, as by other packages",
    "plan": "Plan.apply(), and compare() on its result",
    "force_plan": "Plan.apply(force=True)",
    "plan_out": "Plan.save() of the result's plan",
    "dry_run": "without `output` nothing is written",
    "why": "a text to read: the plan of the result has the reasons",
    "autotune": "autotune()",
    "autotune_dir": "`folder` of autotune()",
    "cache_out": "Plan.save_ranges() of the result's plan",
    "metric_timeout": "a function is not ended from outside",
    "report": "`report` of the result has the figures; the page is the tool's",
    "quantize overlay": "node data for a viewer: the tool's, as the page",
    "status": "the run's own state comes by `live`",
    "worker": "the program in the package",
    "bisect": "a search for a defect of qdq, with the tool",
    "print_changed": "a text to read, on stderr of the tool",
    "top": "`layers` of the result has all",
    "compare min_sqnr": "sqnr_db of the result is a number",
    "compare min_agreement": "agreement of an output is a number",
    "check strict": "`target_check` of the result has counts",
    "check layer_info": "a list of layers to read",
    "layer_profile": "a list of layers to read",
    "calibrate output": "Statistics.save()",
    "merge": "Statistics.merge()",
    "import output": "Plan.save()",
}
# Keywords that the command line lacks, and why.
PYTHONS = {
    "progress": "--progress is of every command",
    "client": "a cluster of Dask",
    "shards": "a cluster of Dask",
    "live": "a function",
    "details": "rare options of autotune by name",
    "fake_quant": "for figures that do not depend on the engine",
    "max_ms": "for limits on tests",
    "autotune output": "the model also elsewhere than in `folder`",
    "calibrate percentile": "Statistics hold what every percentile needs",
}


def options_of(command: str) -> set[str]:
    """The options in the tables of docs/cli.md."""
    page = (ROOT / "docs/cli.md").read_text()
    section = page.split(f"\n## qdq {command}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(?:-\w, )?--(?:\[no-\])?([a-z0-9-]+)", section, re.M)
    return {name.replace("-", "_") for name in found}


def test_every_option_of_the_command_line_is_a_keyword_or_elsewhere_for_a_reason():
    used = set()
    for command, function in COMMANDS.items():
        known = {*inspect.signature(function).parameters}
        if command == "autotune":
            known |= {*Options("qdq_tune_details").fields} - NO_DETAIL | {*REGIONS}
        keywords = {*function.__kwdefaults__}
        options = options_of(command)
        assert len(options) > 2, command
        for name in options:
            key = next((k for k in (f"{command} {name}", name) if k in RENAMED), "")
            reason = next((k for k in (f"{command} {name}", name) if k in ELSEWHERE), "")
            if RENAMED.get(key) in known:
                keywords.discard(RENAMED[key])
                used.add(key)
            elif name in known and not reason.startswith(command):
                keywords.discard(name)
            else:
                assert reason, f"{command} --{name}"
                used.add(reason)
        for name in keywords:
            reason = next((k for k in (f"{command} {name}", name) if k in PYTHONS), "")
            assert reason, f"{function.__name__}: {name}"
            used.add(reason)
    assert used == {*RENAMED, *ELSEWHERE, *PYTHONS}


def test_every_option_reaches_the_library():
    structs = "quantize ptq goal optimize tune engine data compare check bench import calibrate"
    members = {name for s in [*structs.split(), "save"] for name in Options(f"qdq_{s}_opts").fields}
    ours = {"output", "calib", "data", "check", "tolerance", "freeze_inputs", "image_size"}
    ours |= {"calib_threads", "set_shape", "format", "set", "optimize", "sqnr", "bench"}
    ours |= {"baselines", "encodings", "per_layer", "progress", "client", "shards"}
    ours |= {"metadata", "min_shape", "opt_shape", "max_shape"}
    for function in FUNCTIONS:
        for name in function.__kwdefaults__:
            assert MEMBERS.get(name, name) in members | ours | {*FORMATS}, name
    assert {*MEMBERS.values()} <= members


def taken(**given):
    return check_types(given, {name: object() for name in given})


def test_values_of_numpy_are_taken():
    found = taken(
        mean=np.float32(127.5),
        std=np.array(0.5),
        samples=np.int64(3),
        threads=np.array(2),
        min_sqnr=np.float64(30),
        percentile=np.array(99.9, np.float32),
        sqnr=np.bool_(False),
        image_size=np.array([8, 9]),
        shape={"x": np.array([1, 2])},
    )
    assert found["mean"] == [127.5] and found["std"] == [0.5]
    assert found["samples"] == 3 and type(found["samples"]) is int and found["threads"] == 2
    assert found["min_sqnr"] == 30 and found["sqnr"] is False
    assert found["image_size"] == (8, 9) and found["shape"] == {"x": (1, 2)}
    assert taken(mean=np.array([1, 2, 3]))["mean"] == [1, 2, 3]


def test_one_text_is_a_list_of_one():
    found = taken(rest_keep="Softmax", no_fold="Add", exclude="conv1", providers=("CPU",))
    assert found["rest_keep"] == ["Softmax"] and found["no_fold"] == ["Add"]
    assert found["exclude"] == ["conv1"] and found["providers"] == ["CPU"]
    path = pathlib.Path("a.so")
    assert taken(plugin_libraries=path)["plugin_libraries"] == [path]


def test_numbers_below_their_least_are_named(cnn):
    for name in ("samples", "threads"):
        with pytest.raises(qdq.UsageError, match=f"{name}: found -1, expected a whole number, 0"):
            qdq.quantize(cnn, **{name: -1})
    with pytest.raises(qdq.UsageError, match="mean: found 5 numbers, expected 1 to 4"):
        qdq.quantize(cnn, calib="random:0", mean=[1, 2, 3, 4, 5])


def test_texts_of_compat_are_lists_of_one(cnn, images, tmp_path):
    feeds = [{"x": x[None]} for x in images[:4]]
    plan = quantize_static(
        cnn, tmp_path / "a.onnx", iter(feeds), op_types_to_quantize="Conv", nodes_to_exclude="r1"
    ).plan
    kinds = {count.what.split()[0] for count in plan.summary.quantized}
    assert "Conv" in kinds and "Gemm" not in kinds
    quantize_dynamic(cnn, tmp_path / "b.onnx", nodes_to_exclude="no_such_node")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: qdq.Plan(5), "plan: found 5, expected a path"),
        (lambda m: qdq.Plan(None), "plan: found None, expected a path"),
        (lambda m: qdq.Target(None), "target: found NoneType, expected a name"),
        (lambda m: qdq.Engine(3), "engine: found 3, expected a text"),
        (lambda m: qdq.Engine("ort", engine_timeout="5"), "engine_timeout: found '5', expected a"),
        (lambda m: qdq.quantize(m, engine=3), "engine: found 3, expected a text or a qdq.Engine"),
        (lambda m: qdq.bench(m, engine=None), "engine: found None, expected a text or a qdq.Engin"),
        (lambda m: qdq.Model(m).set_opset("19"), "opset: found '19', expected a whole number"),
        (lambda m: qdq.Model(m).set_shapes([3]), "shapes: found \\[3\\], expected a dict of shape"),
        (lambda m: qdq.Model(m).extract(3, ["y"]), "inputs: found 3, expected a list of texts"),
        (lambda m: qdq.quantize(m, set={"activation.type": {1}}), "expected texts, numbers, lists"),
        (lambda m: quantize_static(m, "o", [1], extra_options=3), "extra_options: found 3"),
        (
            lambda m: quantize_static(m, "o", [1], extra_options={"WeightSymmetric": "no"}),
            "WeightSymmetric: found 'no', expected True or False",
        ),
        (
            lambda m: quantize_static(m, "o", [1], use_external_data_format="no"),
            "use_external_data_format: found 'no'",
        ),
        (lambda m: quantize_static(m, "o", [1], per_channel="no"), "per_channel: found 'no'"),
        (lambda m: quantize_static(m, "o", [1], nodes_to_exclude=3), "nodes_to_exclude: found 3"),
        (lambda m: simplify(m, skipped_optimizers=3), "skipped_optimizers: found 3"),
    ],
)
def test_other_arguments_are_named(cnn, call, text):
    with pytest.raises(TypeError, match=text):
        call(cnn)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: qdq.optimize(m, samples=3), "found samples without check"),
        (lambda m: qdq.optimize(m, tolerance=0.1), "found tolerance without check"),
        (lambda m: qdq.optimize(m, mean=127), "found mean without check"),
        (lambda m: qdq.optimize(m, layout="nchw"), "found layout without check"),
        (lambda m: qdq.optimize(m, host="exec:x"), "found host without check"),
        (lambda m: qdq.optimize(m, external_data="never"), "found external_data without output"),
        (lambda m: qdq.strip(m, external_data="never"), "found external_data without output"),
        (lambda m: qdq.quantize(m, external_data="never"), "found external_data without output"),
        (lambda m: qdq.check(m, data="random:0"), "found data without engine"),
        (lambda m: qdq.check(m, target="ort-cpu", std=3), "found std without engine"),
        (lambda m: qdq.check(m, target="ort-cpu", host="exec:x"), "found host without engine"),
        (lambda m: qdq.check(m, set={"rest.type": "float"}), "found set without target or engine"),
        (lambda m: qdq.check(m, shape={"x": (1,)}), "found shape without target or engine"),
        (lambda m: qdq.quantize(m, trtexec_args="--fp16"), "found trtexec_args and engine ort"),
    ],
)
def test_an_option_without_the_one_that_it_needs_is_named(cnn, call, text):
    with pytest.raises(qdq.UsageError, match=text):
        call(cnn)


def test_an_open_engine_has_its_options_already(cnn, ort):
    with pytest.raises(qdq.UsageError, match="providers: conflicts with an engine that is open"):
        qdq.quantize(cnn, engine=ort, providers=["CPU"])
