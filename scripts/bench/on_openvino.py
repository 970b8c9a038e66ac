"""The part of the benchmark about OpenVINO: our files for it against the peers', and what a search
there brings."""
import os

from quantizing import PEERS, SKELETONS, geometric_mean
from tuning import interval, ms, rows_of

ON = ("--engine", "openvino", "--shape", "x=1x3x224x224")
TUNED = ("convnext_tiny", "mobilenet_v2")


class OpenVINO:
    """Needs of Bench, Quantizing and Tuning: skeletons(), samples(), latency_row(), peer_file(),
    tune(), table(), qdq_json()."""

    def for_openvino(self, name):
        out = self.path("%s.openvino.onnx" % name)
        self.run([self.qdq, "quantize", self.path(name + ".onnx"), "-o", out, "-f", "--calib",
                  self.samples(), "--no-sqnr",
                  "--target", "openvino"])
        return out

    def openvino(self):
        """The table of quantized_latency, on the other engine."""
        self.skeletons(SKELETONS)
        rows, against_best = zip(*(self.latency_row(name, self.for_openvino(name),
                                                    *ON) for name in SKELETONS))
        self.table("openvino", "quantize --target openvino on OpenVINO, one thread: geometric mean "
                               "of the ratios %.3f, largest "
                   "%.3f (asked: 1.0 and 1.05)" % (geometric_mean(against_best), max(against_best)),
                   self.LATENCY, rows)
        self.results["openvino_mean"] = geometric_mean(against_best)

    def openvino_tuning(self):
        """What the search ships against the file of the rules and those of the peers, afresh."""
        header = ("model", "verdict", "final ms", "rules / final", "peer / final, least", "peer",
                  "float / final", "builds", "s")

        def row(name):
            r = self.tune(name, name + "_openvino", *ON)
            final, model = os.path.join(r["folder"], "model.onnx"), self.tuning_input(name)[0]
            files = {"rules": self.for_openvino(name), "float": model}
            for peer in PEERS:
                files[peer] = self.peer_file(peer, name, model, self.samples())
            there = [key for key in files if files[key]]
            bench = self.qdq_json("bench", final, *(files[key] for key in there), "--rounds",
                                  str(self.rounds), "--threads", "1",
                                  *ON)
            # a ratio of `bench` is final / other: turned round here, as headers say it
            over = {key: dict(x, speedup=1 / x["speedup"], ci_low=1 / x["ci_high"],
                              ci_high=1 / x["ci_low"])
                    for key, x in zip(there, bench["ratios"][1:])}
            peer = min((key for key in there if key in PEERS), key=lambda key: over[key]["speedup"])
            return (name, r["verdict"], ms(bench["models"][0]["median_ms"]),
                    interval(over["rules"]), interval(over[peer]), peer,
                    interval(over["float"]), r["builds"], r["seconds"])

        self.table("openvino_tuning", "qdq autotune --engine openvino, one thread (asked: not "
                                      "slower than the best peer's file, nor "
                   "than the rules)", header, rows_of(header, row, TUNED))
