"""The numbers of docs/benchmarks.md, measured side by side in one run: `make bench`.

Runs in a virtual environment of its own under build/; nothing else of the project needs Python.
Prints Markdown and writes build/bench/results.json."""
import argparse
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import time

import numpy
import onnx
import onnx.numpy_helper

from engines import Engines
from on_openvino import OpenVINO
from optimizing import Optimizing
from quantizing import Quantizing
from subgraph import Subgraph
from tuning import Tuning

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, check=True):
    """Whole-process seconds, user seconds and peak resident MiB of one command."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if check and status != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), status, error.decode()))
    return seconds, usage.ru_utime, usage.ru_maxrss / 1024


def alternate(rounds, *commands):
    """Medians of several commands run in turn, so that drift of the machine hits all alike."""
    times = [[] for _ in commands]
    peaks = [[] for _ in commands]
    for _ in range(rounds):
        for i, prepare_and_command in enumerate(commands):
            for path in prepare_and_command.get("remove", []):
                for name in (path, path + ".data", *glob.glob(glob.escape(path) + ".*.data")):
                    if os.path.exists(name):
                        os.remove(name)
            seconds, _, peak = run(prepare_and_command["command"])
            times[i].append(seconds)
            peaks[i].append(peak)
    return [(statistics.median(t), max(p)) for t, p in zip(times, peaks)]


def number(x):
    """Three digits, more only where there are more before the point."""
    return "%.0f" % x if abs(x) >= 100 else "%.3g" % x


def scale_layers(model):
    """Scales of layers as training leaves them, 0.1 to 0.5. ConvNeXt begins with 1e-6: what such a
    block adds is below one step of 8 bits, and OpenVINO leaves blocks out of some files."""
    random = numpy.random.default_rng(1)
    for tensor in model.graph.initializer:
        if tensor.name.endswith("layer_scale"):
            shape = tuple(tensor.dims)
            values = random.uniform(0.1, 0.5, shape).astype(numpy.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


class Bench(Engines, OpenVINO, Optimizing, Quantizing, Subgraph, Tuning):
    def __init__(self, build, models, peers, rounds):
        self.rounds = rounds
        self.build, self.models, self.peers_python = build, models, peers
        self.qdq = os.path.join(build, "qdq")
        self.dir = os.path.join(build, "bench")
        self.results = {}
        os.makedirs(self.dir, exist_ok=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def table(self, key, title, header, rows):
        self.results[key] = [dict(zip(header, row)) for row in rows]
        print("\n### %s\n" % title)
        print("| " + " | ".join(header) + " |")
        print("|" + "---|" * len(header))
        for row in rows:
            print("| " + " | ".join(number(x) if isinstance(x,
                                                            float) else str(x) for x in row) + " |")
        sys.stdout.flush()

    def qdq_json(self, *arguments):
        done = subprocess.run([self.qdq, *arguments, "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit("qdq %s: %s" % (" ".join(arguments), done.stderr.decode()))
        return json.loads(done.stdout)

    def skeletons(self, names):
        """Full-size models: the graph as it is, weights by fill.c and scale_layers()."""
        fill = self.path("fill")
        if not os.path.exists(fill):
            subprocess.check_call(["cc", "-O2", "-o", fill, os.path.join(self.models, "fill.c"),
                                   "-lm"])
        for name in names:
            source = os.path.join(self.models, "skeleton", name)
            if not os.path.exists(self.path(name + ".bin")):
                subprocess.check_call([fill, source + ".fill", self.path(name + ".bin")])
            model = onnx.load(source + ".onnx", load_external_data=False)
            scale_layers(model)
            onnx.save(model, self.path(name + ".onnx"))

    def samples(self):
        path = self.path("samples.npz")
        if not os.path.exists(path):
            x = numpy.random.default_rng(1).standard_normal((8, 3, 224, 224), dtype=numpy.float32)
            numpy.savez(path, x=x)
        return path

    def inspect(self):
        self.skeletons(("resnet50",))
        generator = os.path.join(self.build, "tests", "gen_graph")
        big = self.path("big4gb.onnx")
        if not os.path.exists(big):
            subprocess.check_call([generator, "1000", big, "--weights-gb", "4"])
        rows = []
        for name, path in (("resnet50, 102 MB external", self.path("resnet50.onnx")),
                           ("4 GB external", big)):
            ((seconds, peak),) = alternate(15, {"command": [self.qdq, "inspect", path]})
            rows.append((name, seconds * 1000, peak))
        self.table("inspect", "qdq inspect, whole process", ("model", "ms", "peak MiB"), rows)

    def graph_sizes(self):
        """`copy` loads, verifies (before it writes) and saves."""
        generator = os.path.join(self.build, "tests", "gen_graph")
        rows = []
        for nodes in (1000, 10000, 100000, 1000000):
            path, out = self.path("g%d.onnx" % nodes), self.path("g%d_out.onnx" % nodes)
            if not os.path.exists(path):
                subprocess.check_call([generator, str(nodes), path])
            runs = [run([self.qdq, "copy", path, "-o", out, "-f"])
                    for _ in range(7 if nodes < 1000000 else 5)]
            wall, user, peak = (statistics.median(column) for column in zip(*runs))
            rows.append((nodes, wall, wall / nodes * 1e6, user / nodes * 1e6, peak))
            os.remove(out)
        self.table("graph_sizes", "load, verify and save (qdq copy), whole process, generated "
                                  "graphs",
                   ("nodes", "s", "us per node", "of it in our code", "peak MiB"), rows)

    @staticmethod
    def run(command):
        return run(command)

    @staticmethod
    def measure(rounds, *commands):
        """Median seconds and largest peak MiB of whole processes, run in turn; None for one that
        fails."""
        costs = [[] for _ in commands]
        for _ in range(rounds):
            for cost, command in zip(costs, commands):
                try:
                    cost.append(run(command))
                except SystemExit as failed:
                    print(failed, file=sys.stderr)
        return [(statistics.median(r[0] for r in cost), max(r[2] for r in cost)) if cost else None
                for cost in costs]

    PARTS = ("inspect", "graph_sizes", "quantize", "optimize", "tuning", "engines", "openvino",
             "openvino_tuning", "subgraph",
             "subgraph_greedy", "subgraph_blind")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("peers", help="the Python that has NNCF and Model-Optimizer")
    parser.add_argument("--rounds", type=int, default=40, help="of the latency of quantized files")
    parser.add_argument("parts", nargs="*", default=Bench.PARTS)
    options = parser.parse_intermixed_args()
    bench = Bench(os.path.abspath(options.build), os.path.abspath(options.models), options.peers,
                  options.rounds)
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                   "unknown")
    print("%s, %d cores, %s" % (cpu, os.cpu_count(), platform.platform()))
    for part in options.parts or Bench.PARTS:
        getattr(bench, part)()
    with open(bench.path("results.json"), "w") as file:
        json.dump(bench.results, file, indent=2)


if __name__ == "__main__":
    main()
