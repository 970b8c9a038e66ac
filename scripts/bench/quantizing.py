"""The part of the benchmark about `qdq quantize`: latency, accuracy, time and memory against the
peers' own files.

The peers are ONNX Runtime's tool (uint8 activations, int8 weights per channel, preprocessing), NNCF
with its defaults and NVIDIA Model-Optimizer with max calibration. Their files are made once and
kept beside the build: they do not change with our code. Times and peaks are always measured
anew."""
import json
import math
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKELETONS = ("resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "convnext_tiny", "vit_b_32")
DIGITS = ("digits_cnn", "digits_cnn_bn", "digits_convnext", "digits_vit")
PEERS = {"ORT": "peer_quantize.py", "NNCF": "peer_nncf.py", "Model-Optimizer": "peer_modelopt.py"}
METHODS = ("max", "entropy", "percentile", "mse", "moving-average", "auto")
PROCESSES = 7
IMAGE = ("--mean", "127,127,127", "--std", "128,128,128")


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


class Quantizing:
    """Needs of Bench: qdq, build, models, path(), table(), skeletons(), samples(), measure(),
    qdq_json()."""

    def peer_command(self, peer, model, out, samples):
        return [self.peers_python, os.path.join(HERE, PEERS[peer]), model, out, samples]

    def peer_file(self, peer, name, model, samples):
        """The peer's file, made if it is not there yet; None where the peer fails, which is said
        once."""
        out = self.path("peers", "%s.%s.onnx" % (name, peer))
        note = out + ".failed"
        if os.path.exists(out):
            return out
        if os.path.exists(note):
            return None
        os.makedirs(os.path.dirname(out), exist_ok=True)
        done = subprocess.run(self.peer_command(peer, model, out, samples),
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode == 0 and os.path.exists(out):
            return out
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        with open(note, "w") as file:
            file.write(lines[-1] if lines else "status %d" % done.returncode)
        return None

    def ours(self, name, model, samples, *options):
        out = self.path("%s.qdq.onnx" % name)
        self.run([self.qdq, "quantize", model, "-o", out, "-f", "--calib", samples, *options])
        return out

    def sqnr(self, model, file, *data):
        compared = self.qdq_json("compare", model, file, "--data", *data)
        return compared["outputs"][0]["sqnr_db"] if file else None

    # --- latency ----------------------------------------------------------------------------------

    LATENCY = ("model", "ours ms", "best peer's ms", "best peer", "ours / best peer", "processes",
               "ours over float",
               "SQNR ours dB", "SQNR of the peers dB")

    def in_processes(self, files, *engine):
        """Medians over processes of ms by key, and of the time of ours divided by that of each,
        with their range: what one session has, memory above all, it keeps, and the next one has
        something else. Each process has another order."""
        there = [key for key in files if files[key]]
        runs = []
        for i in range(PROCESSES):
            order = there[i % len(there):] + there[:i % len(there)]
            bench = self.qdq_json("bench", *(files[key] for key in order), "--rounds",
                                  str(max(5, self.rounds // PROCESSES)),
                                  "--threads", "1", *engine)
            runs.append({key: model["median_ms"] for key, model in zip(order, bench["models"])})
        ratios = {key: sorted(run["ours"] / run[key] for run in runs) for key in there}
        return ({key: statistics.median(run[key] for run in runs) for key in there},
                {key: (statistics.median(r), r[0], r[-1]) for key, r in ratios.items()})

    def latency_row(self, name, ours, *engine):
        """A row, and ours over the best peer."""
        model = self.path(name + ".onnx")
        files = {"ours": ours}
        for peer in PEERS:
            files[peer] = self.peer_file(peer, name, model, self.samples())
        files["float"] = model
        times, ratio = self.in_processes(files, *engine)
        best = max((key for key in times if key in PEERS), key=lambda key: ratio[key][0])
        sqnr = {key: self.sqnr(model, files[key], "random:2",
                               *engine) for key in times if key != "float"}
        return (name, times["ours"], times[best], best, ratio[best][0],
                "%.3f to %.3f" % ratio[best][1:],
                1 / ratio["float"][0], sqnr["ours"],
                ", ".join("%s %.1f" % (key, sqnr[key]) for key in sqnr
                          if key != "ours")), ratio[best][0]

    def quantized_latency(self):
        """Ours, the peers' and float in interleaved rounds."""
        self.skeletons(SKELETONS)
        rows, against_best = zip(*(self.latency_row(name, self.ours(name, self.path(name + ".onnx"),
                                                                    self.samples()))
                                   for name in SKELETONS))
        ultraface, row = self.ultraface_against_float()
        against_best += (ultraface,)
        self.table("quantized_latency", "latency of quantized files, one thread: geometric mean of "
                                        "the ratios %.3f"
                   % geometric_mean(against_best), self.LATENCY, rows + (row,))
        self.results["quantized_latency_mean"] = geometric_mean(against_best)

    def ultraface_against_float(self):
        """No peer's file of it is faster than float."""
        photos = os.path.join(self.models, "real", "photos")
        model = os.path.join(self.models, "real", "ultraface_rfb320.onnx")
        out = self.ours("ultraface", model, photos, *IMAGE)
        times, ratio = self.in_processes({"ours": out, "float": model})
        r = ratio["float"]
        sqnr = self.sqnr(model, out, photos, *IMAGE)
        return r[0], ("ultraface", times["ours"], times["float"], "float", r[0],
                      "%.3f to %.3f" % r[1:], 1 / r[0], sqnr, "-")

    # --- accuracy ---------------------------------------------------------------------------------

    def correct(self, model, file):
        folder = os.path.join(self.models, "digits")
        result = self.qdq_json("compare", model, file, "--data", os.path.join(folder,
                                                                              "digits_test.npz"),
                               "--labels",
                               "label")
        return result["accuracy"]["a"], result["accuracy"]["b"], result["outputs"][0]["sqnr_db"]

    def quantized_digits(self):
        folder = os.path.join(self.models, "digits")
        samples = os.path.join(folder, "digits_calib.npz")
        rows = []
        for name in DIGITS:
            model = os.path.join(folder, name + ".onnx")
            before, after, sqnr = self.correct(model, self.ours(name, model, samples))
            row = [name, "%.4f" % before, "%.4f" % after, round((after - before) * 597), sqnr]
            for peer in PEERS:
                file = self.peer_file(peer, name, model, samples)
                row.append("%.4f" % self.correct(model, file)[1] if file else "-")
            rows.append(row)
        self.table("quantized_digits", "accuracy on the 597 handwritten digits, calibrated on 256",
                   ("model", "float", "ours", "images won or lost", "SQNR ours dB", *PEERS), rows)

    # --- time and memory --------------------------------------------------------------------------

    def quantized_cost(self):
        """Whole processes; ours three times, its methods in turn, the peers once."""
        self.skeletons(("vit_b_32",))
        folder = os.path.join(self.models, "digits")
        tasks = (("vit_b_32, 8 samples", self.path("vit_b_32.onnx"), self.samples()),
                 ("digits_vit, 256 samples", os.path.join(folder, "digits_vit.onnx"),
                  os.path.join(folder, "digits_calib.npz")))
        for task, model, samples in tasks:
            rows, peers = [], []
            out = self.path("cost.onnx")
            for peer in PEERS:
                if os.path.exists(out):
                    os.remove(out)
                cost = self.measure(1, self.peer_command(peer, model, out, samples))[0]
                if cost:
                    peers.append(cost)
                rows.append([peer, *(cost or ("-", "-")), "-", "-", "-"])
            if not peers:
                sys.exit("no peer quantizes " + task)
            fastest, smallest = (min(column) for column in zip(*peers))
            ours = self.measure(3, *([self.qdq, "quantize", model, "-o", out, "-f", "--calib",
                                      samples, "--method",
                                      method] for method in METHODS))
            for method, cost in zip(METHODS, ours):
                rows.append(["qdq " + method, *cost, cost[0] / fastest, cost[1] / smallest,
                             cost[0] / ours[0][0]])
            key = "quantized_cost_" + task.split(",")[0]
            self.table(key, "quantize %s, whole process" % task,
                       ("tool", "s", "peak MiB", "of the fastest peer", "of the smallest peak",
                        "of max"), rows)

    def placement(self):
        """Processor seconds, without reading and cleaning; the test prints them."""
        text = subprocess.run([os.path.join(self.build, "tests", "test_place_speed")],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False,
                              env=dict(os.environ, QDQ_BENCH="1")).stdout.decode()
        rows = [(m[0], m[1], int(m[2]), float(m[3]), float(m[3]) / int(m[2]) * 1e6) for m in
                re.findall(r"^(\S+) +(\S+) +(\d+) nodes: ([\d.]+) s", text, re.MULTILINE)]
        if not rows:
            sys.exit("test_place_speed printed no times:\n" + text)
        self.table("placement", "placement on generated graphs", ("target", "graph", "nodes", "s",
                                                                  "us per node"), rows)

    def quantize(self):
        self.quantized_latency()
        self.quantized_digits()
        self.quantized_cost()
        self.placement()
