"""The part of the benchmark about engines: what our timing loop adds to their own calls, and how
much of what they execute is told which nodes of the model it computes."""
import subprocess

ENGINES = ("ort", "openvino")
GROUPED = ("convnext_tiny", "vit_b_32")


class Engines:
    """Needs of Bench and Tuning: qdq, path(), table(), skeletons(), samples(), qdq_json(),
    printed_by()."""

    def engine_overhead(self):
        (found,) = self.printed_by("test_engine_overhead",
                                   r"^(\w+): a run takes ([\d.]+) ms; the loop adds (-?[\d.]+) %")
        self.table("engine_overhead", "our timing loop over the engine's own call, one small Conv "
                                      "(asked: less than 1 % at 0.2 ms)",
                   ("engine", "a run ms", "the loop adds %"),
                   [(m[0], float(m[1]), float(m[2])) for m in found])

    def quantized_for(self, name, engine):
        """The rules of the engine's own target, where it has one."""
        targets = {t["name"] for t in self.qdq_json("targets")}
        target = engine if engine in targets else "ort-cpu"
        out = self.path("groups_%s_%s.onnx" % (name, target))
        subprocess.check_call([self.qdq, "quantize", self.path(name + ".onnx"), "-o", out, "-f",
                               "--target", target, "--no-sqnr", "-q",
                               "--calib", self.samples()], stdout=subprocess.DEVNULL)
        return out, target

    def engine_groups(self):
        self.skeletons(GROUPED)
        rows = []
        for name in GROUPED:
            for engine in ENGINES:
                for file, what in ((self.path(name + ".onnx"), "float"),
                                   self.quantized_for(name, engine)):
                    seen = self.qdq_json("inspect", file, "--groups", "--engine", engine, "--runs",
                                         "30")
                    rows.append((name, engine, what, len(seen["layers"]), seen["us"] / 1000,
                                 100 * seen["conversions_us"] / seen["us"],
                                 100 * seen["attributed"]))
        self.table("engine_groups", "layers that engines execute, and their nodes, one thread "
                                    "(asked: 98 % of the time that "
                   "computes something)", ("model", "engine", "float, or rules of", "layers", "ms",
                                           "conversions %",
                                           "of the rest with nodes %"), rows)

    def engines(self):
        self.engine_overhead()
        self.engine_groups()
