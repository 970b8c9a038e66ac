"""The part of the benchmark about `qdq optimize`: nodes and time against the peers, latency,
trained quantization."""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
SKELETONS = ("vit_b_32", "convnext_tiny", "resnet50", "mobilenet_v2", "resnet18", "squeezenet1_1")
TARGET = ("--target", "ort-cpu")


def wall(command):
    """Whole-process seconds; None if it fails. Dirty pages of what ran before are not this one's
    burden."""
    os.sync()
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start if done.returncode == 0 else None


def copy_and_sync(source, to):
    """What the bytes alone cost: copied and brought to the disk."""
    os.sync()
    start = time.perf_counter()
    with open(source, "rb") as file, open(to, "wb") as copy:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            left -= os.copy_file_range(file.fileno(), copy.fileno(), left)
        os.fsync(copy.fileno())
    return time.perf_counter() - start


def side_files(model):
    """Files of external data beside a model: those of qdq have a hash in their names."""
    return [name for name in (*glob.glob(glob.escape(model) + ".*.data"),
                              model + ".data") if os.path.exists(name)]


def remove(*paths):
    for path in paths:
        for name in (path, *side_files(path)):
            if os.path.exists(name):
                os.remove(name)


def middle(seconds):
    return statistics.median(seconds) if seconds and None not in seconds else None


def shown(x, form="%s"):
    return "-" if x is None else form % x


def kernels(model, shape):
    """How often each kernel runs in one run of ONNX Runtime, by its own profile."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        session.run(None, {session.get_inputs()[0].name: numpy.zeros(shape, numpy.float32)})
        with open(session.end_profiling()) as file:
            events = json.load(file)
    found = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            op = event["args"]["op_name"]
            found[op] = found.get(op, 0) + 1
    return found


class Optimizing:
    """Needs of Bench: qdq, build, models, path(), table(), skeletons(), qdq_json()."""

    def small_models(self):
        """Name and file of what the corpus has with its own weights."""
        return [(os.path.basename(path)[:-5], path) for folder in ("digits", "real")
                for path in sorted(glob.glob(os.path.join(self.models, folder, "*.onnx")))]

    def large_models(self):
        self.skeletons(SKELETONS)
        return [(name, self.path(name + ".onnx")) for name in SKELETONS]

    def peers(self, model, out):
        scripts = os.path.dirname(sys.executable)
        return {"onnxsim": [os.path.join(scripts, "onnxsim"), model, out],
                "onnxslim": [os.path.join(scripts, "onnxslim"), model, out],
                "onnxscript": [sys.executable, os.path.join(HERE, "peer_optimize.py"), model, out]}

    def nodes(self, path):
        return self.qdq_json("inspect", path)["nodes"] if os.path.exists(path) else None

    def optimize_one(self, model, rounds):
        """Medians of all in turn; nodes of what each wrote."""
        out, copy = self.path("optimized.onnx"), self.path("copied.bin")
        peers = self.peers(model, out)
        ours = [self.qdq, "optimize", model, "-o", out, *TARGET]
        seconds = {tool: [] for tool in ("qdq", "copy", *peers)}
        nodes = {}
        for _ in range(rounds):
            for _ in range(3):  # the disk has moods
                remove(out)
                seconds["qdq"].append(wall(ours))
                weights = (side_files(out) or [out])[0]
                remove(copy)
                seconds["copy"].append(copy_and_sync(weights, copy))
            nodes["qdq"] = self.nodes(out)
            for tool, command in peers.items():
                remove(out)
                seconds[tool].append(wall(command))
                nodes[tool] = self.nodes(out)
        remove(out)
        os.remove(copy)
        return nodes, {tool: middle(times) for tool, times in seconds.items()}

    def optimize_against_peers(self, models, rounds):
        counts, times = [], []
        for name, model in models:
            nodes, seconds = self.optimize_one(model, rounds)
            best = min((n for tool, n in nodes.items() if tool != "qdq" and n is not None),
                       default=None)
            counts.append((name, self.nodes(model),
                           *(shown(nodes[tool]) for tool in self.peers("", "")), shown(best),
                           nodes["qdq"]))
            fastest = min((s for tool, s in seconds.items() if tool not in ("qdq", "copy")
                           and s is not None),
                          default=None)
            own = seconds["qdq"] - seconds["copy"]  # below 0: lost in the noise of the disk
            times.append((name, *(shown(seconds[tool], "%.3g") for tool in self.peers("", "")),
                          seconds["qdq"],
                          seconds["copy"], own, shown(fastest and own / fastest, "%.4f")))
        self.table("optimize_nodes", "qdq optimize: nodes that are left",
                   ("model", "before", *self.peers("", ""),
                                                                           "best peer", "qdq"),
                   counts)
        self.table("optimize_time", "qdq optimize: seconds, whole process",
                   ("model", *self.peers("", ""), "qdq", "copying the weights", "qdq without that",
                    "of the fastest peer"), times)

    def optimize_generated(self):
        generator = os.path.join(self.build, "tests", "gen_fold")
        rows = []
        for kind, sizes in (("arithmetic", (50000, 100000)), ("shapes", (2500, 5000))):
            for size in sizes:
                model, out = self.path("generated.onnx"), self.path("optimized.onnx")
                subprocess.check_call([generator, kind, str(size), model])
                seconds = middle([wall([self.qdq, "optimize", model, "-o", out,
                                        "-f"]) for _ in range(5)])
                rows.append((kind, size, self.nodes(out), seconds, seconds / size * 1e6))
                remove(model, out)
        self.table("optimize_generated", "qdq optimize: generated models, whole process",
                   ("kind", "nodes", "left", "s", "us per node"), rows)

    def optimize_latency(self, models, rounds):
        """Paired: the model as it was against the optimized one; outputs by `optimize --check`."""
        rows = []
        for name, model in models:
            out, digits = self.path("optimized.onnx"), name.startswith("digits")
            data = os.path.join(self.models, "digits", "digits_test.npz") if digits else "random:1"
            remove(out)
            checked = subprocess.run([self.qdq, "optimize", model, "-o", out, *TARGET, "--check",
                                      data, "--samples",
                                      "40" if digits else "2", "--json"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            if checked.returncode == 5:
                rows.append((name, "-", "-", "ONNX Runtime does not open it"))
                continue
            result = json.loads(checked.stdout)["check"]
            same = "yes" if result["same"] else result["why"]
            if not os.path.exists(out):
                rows.append((name, "-", "-", same))
                continue
            ratio = self.qdq_json("bench", model, out, "--rounds", str(rounds))["ratios"][1]
            rows.append((name, "%.3f" % ratio["speedup"], "%.3f to %.3f" % (ratio["ci_low"],
                                                                            ratio["ci_high"]),
                         same))
            remove(out)
        self.table("optimize_latency", "qdq optimize: latency on ORT, one thread, before / after",
                   ("model", "speed-up", "95 %", "outputs the same"), rows)

    def qat_row(self, form, stage, model):
        folder = os.path.join(self.models, "digits")
        float_model = os.path.join(folder, "digits_cnn.onnx")
        seen = self.qdq_json("inspect", model)
        ran = kernels(model, (64, 1, 16, 16))
        accuracy = self.qdq_json("compare", float_model, model, "--data",
                                 os.path.join(folder, "digits_test.npz"),
                                 "--labels", "label")["accuracy"]["b"]
        speed = self.qdq_json("bench", float_model, model, "--shape", "x=64x1x16x16", "--rounds",
                              "60")["ratios"][1]
        return (form, stage, seen["nodes"], seen["ops"].get("BatchNormalization", 0),
                seen["ops"].get("QuantizeLinear", 0), seen["ops"].get("DequantizeLinear", 0),
                ran.get("QLinearConv", 0), ran.get("Conv", 0) + ran.get("FusedConv", 0),
                "%.4f" % accuracy,
                "%.2f" % speed["speedup"])

    def optimize_qat(self):
        """Quantization that was trained: repaired by `optimize`, completed by `quantize`."""
        folder = os.path.join(self.models, "digits")
        calib = os.path.join(folder, "digits_calib.npz")
        trained, folded = os.path.join(folder, "digits_qat_bn.onnx"), self.path("qat_folded.onnx")
        subprocess.check_call([os.path.join(self.build, "tests", "gen_qat"), trained, folded])
        rows = []
        for form, model in (("BatchNormalization kept", trained), ("folded by hand", folded)):
            optimized, quantized = self.path("qat.opt.onnx"), self.path("qat.qdq.onnx")
            subprocess.check_call([self.qdq, "optimize", model, "-o", optimized, "-f", *TARGET],
                                  stdout=subprocess.DEVNULL)
            subprocess.check_call([self.qdq, "quantize", optimized, "-o", quantized, "-f",
                                   "--calib", calib, "-q"],
                                  stdout=subprocess.DEVNULL)
            for stage, path in (("as trained", model), ("optimize", optimized),
                                ("and quantize", quantized)):
                rows.append(self.qat_row(form, stage, path))
        plain = self.path("digits_cnn.qdq.onnx")
        subprocess.check_call([self.qdq, "quantize", os.path.join(folder, "digits_cnn.onnx"), "-o",
                               plain, "-f",
                               "--calib", calib, "-q"], stdout=subprocess.DEVNULL)
        rows.append(self.qat_row("digits_cnn, from float", "quantize", plain))
        self.table("optimize_qat", "trained quantization, digits: kernels by the profile of ONNX "
                                   "Runtime, speed over "
                   "float digits_cnn at batch 64, one thread",
                   ("form", "stage", "nodes", "BN", "Q", "DQ", "QLinearConv", "float Conv",
                    "accuracy", "speed-up"),
                   rows)

    def optimize(self):
        self.optimize_models(self.large_models() + self.small_models(), 3, 60)

    def optimize_small(self):
        """Without the full-size models: is this script sound?"""
        self.optimize_models(self.small_models(), 1, 20)

    def optimize_models(self, models, rounds, bench_rounds):
        self.optimize_against_peers(models, rounds)
        self.optimize_generated()
        self.optimize_latency(models, bench_rounds)
        self.optimize_qat()
