"""The part of the benchmark about `qdq autotune`: what a search brings, what it costs, and what it
finds without being told.

One thread times the models. What the search ships is compared afresh with the file of the rules'
plan, as `qdq bench` does: the search's own numbers are not taken on trust. What fails says so in
its row, and the other rows are measured all the same."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from quantizing import IMAGE

HERE = os.path.dirname(os.path.abspath(__file__))
BARE = os.path.join(HERE, "..", "..", "tests", "data", "ort_cpu_bare.json")
MODELS = ("resnet18", "convnext_tiny", "mobilenet_v2", "ultraface")
BLIND = ("resnet18", "convnext_tiny", "ultraface")
BLIND_BUILDS = 40
BUILDERS = ("resnet18, structure", "resnet18, names", "vit_b_32, structure", "vit_b_32, names")


def interval(ratio):
    """As `bench` gives it: how many times as fast as the first model. A report has null where it
    cannot say."""
    if None in (ratio["speedup"], ratio["ci_low"], ratio["ci_high"]):
        return "-"
    return "%.3f (%.3f to %.3f)" % (ratio["speedup"], ratio["ci_low"], ratio["ci_high"])


def ms(x):
    return "-" if x is None else "%.2f" % x


def off_by(predicted, measured):
    return "-" if predicted is None or not measured else "%+.1f %%" % (100 *
                                                                       (predicted / measured - 1))


def rows_of(header, row, names):
    """A row for each name; where it fails, the reason is printed, and the others are measured all
    the same."""
    rows = []
    for name in names:
        try:
            rows.append(row(name))
        except (SystemExit, Exception) as failed:  # bench.py ends where a command of ours fails
            print("%s: %s" % (name, failed), file=sys.stderr)
            rows.append((name, "failed", *["-"] * (len(header) - 2)))
    return rows


class Tuning:
    """Needs of Bench: qdq, build, models, rounds, path(), table(), skeletons(), samples(),
    qdq_json()."""

    # --- one model --------------------------------------------------------------------------------

    def tuning_input(self, name):
        """Model, and options for its data."""
        if name == "ultraface":
            return (os.path.join(self.models, "real", "ultraface_rfb320.onnx"),
                    ["--calib", os.path.join(self.models, "real", "photos"), *IMAGE])
        self.skeletons((name,))
        return self.path(name + ".onnx"), ["--calib", self.samples()]

    def tune(self, name, into, *options):
        """The report of a search from the beginning, with `wall`, its seconds as a process."""
        model, data = self.tuning_input(name)
        folder = self.path("tune", into)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        start = time.perf_counter()
        done = subprocess.run([self.qdq, "autotune", model, "-o", folder, "--threads", "1",
                               "--quiet", "--json", *data,
                               *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wall = time.perf_counter() - start
        if done.returncode != 0:
            raise RuntimeError("autotune %s: status %d\n%s" % (into, done.returncode,
                                                              done.stderr.decode(errors="replace")))
        return dict(json.loads(done.stdout), wall=wall, folder=folder)

    def tuned(self, name):
        """The search with nothing but defaults, once in a process."""
        done = self.__dict__.setdefault("tuned_reports", {})
        if name not in done:
            done[name] = self.tune(name, name)
        return done[name]

    def rules_file(self, name):
        model, data = self.tuning_input(name)
        out = self.path("tune", name + ".rules.onnx")
        os.makedirs(os.path.dirname(out), exist_ok=True)
        subprocess.check_call([self.qdq, "quantize", model, "-o", out, "-f", "--no-sqnr", "-q",
                               *data],
                              stdout=subprocess.DEVNULL)
        return out

    def speedups(self, name, *files):
        """How many times as fast as the first file the others are."""
        rounds = self.rounds * (5 if name == "ultraface" else 1)
        return self.qdq_json("bench", *files, "--rounds", str(rounds), "--threads",
                             "1")["ratios"][1:]

    # --- what a search brings ---------------------------------------------------------------------

    def tuning_models(self, names):
        header = ("model", "verdict", "float ms", "rules ms", "final ms", "predicted ms",
                  "float / final", "afresh",
                  "rules / final afresh", "builds", "pairs", "s", "process s")

        def row(name):
            r = self.tuned(name)
            final = os.path.join(r["folder"], "model.onnx")
            (over_rules,) = self.speedups(name, self.rules_file(name), final)
            (over_float,) = self.speedups(name, self.tuning_input(name)[0], final)
            return (name, r["verdict"], ms(r["baseline_ms"]), ms(r["rules_ms"]), ms(r["final_ms"]),
                    ms(r["predicted_ms"]), interval(r), interval(over_float), interval(over_rules),
                    r["builds"],
                    r["timings"], r["seconds"], r["wall"])

        self.table("tuning_" + names[0] if len(names) == 1 else "tuning_models",
                   "qdq autotune, one thread (asked: never slower than float or the rules' plan, 3 "
                   "% faster than it on one of "
                   "the first three; ultraface 1.2 times float; resnet18 in 20 builds and 25 s)",
                   header,
                   rows_of(header, row, names))

    def tuning_resnet18(self):
        self.tuning_models(("resnet18",))

    def tuning_convnext_tiny(self):
        self.tuning_models(("convnext_tiny",))

    def tuning_mobilenet_v2(self):
        self.tuning_models(("mobilenet_v2",))

    def tuning_ultraface(self):
        self.tuning_models(("ultraface",))

    def tuning_blind(self):
        """A target that says what is legal and not what pays: does the search find what the rules
        know?"""
        header = ("model", "verdict", "float ms", "all that is legal ms", "final ms",
                  "predicted ms", "off by",
                  "full target's rules / final, afresh", "builds", "s")

        def row(name):
            r = self.tune(name, name + "_blind", "--target", BARE, "--trials", str(BLIND_BUILDS),
                          "--max-builds",
                          str(BLIND_BUILDS))
            final = os.path.join(r["folder"], "model.onnx")
            (over_rules,) = self.speedups(name, self.rules_file(name), final)
            return (name, r["verdict"], ms(r["baseline_ms"]), ms(r["rules_ms"]), ms(r["final_ms"]),
                    ms(r["predicted_ms"]),
                    off_by(r["predicted_ms"], r["final_ms"]), interval(over_rules), r["builds"],
                    r["seconds"])

        self.table("tuning_blind", "search without knowledge (asked: 0.97 of the speed that the "
                                   "full target's rules give, in %d "
                   "builds; predicted within 3 %%)" % BLIND_BUILDS, header,
                   rows_of(header, row, BLIND))

    def tuning_warm(self):
        """Again, with what the first run found out about its patterns."""
        header = ("run", "verdict", "final ms", "builds", "of the first", "s",
                  "first / this, afresh")

        def row(run):
            first = self.tuned("resnet18")
            if run == "first":
                return (run, first["verdict"], ms(first["final_ms"]), first["builds"], "1",
                        first["seconds"], "-")
            warm = self.tune("resnet18", "resnet18_warm", "--pattern-cache",
                             os.path.join(first["folder"], "patterns.yaml"))
            (over_first,) = self.speedups("resnet18", *(os.path.join(r["folder"],
                                                                     "model.onnx") for r in (first,
                                                                                             warm)))
            return (run, warm["verdict"], ms(warm["final_ms"]), warm["builds"],
                    "%.2f" % (warm["builds"] / first["builds"]), warm["seconds"],
                    interval(over_first))

        self.table("tuning_warm", "resnet18 from its own pattern cache (asked: a third of the "
                                  "builds, not slower)", header,
                   rows_of(header, row, ("first", "with its patterns.yaml")))

    def region_builders(self):
        """Both ways to take a model apart, for docs/decisions.md."""
        header = ("model, builder", "coverage", "leaves", "regions", "patterns", "builds", "pairs",
                  "s", "verdict",
                  "float / final", "SQNR dB")

        def row(which):
            name, builder = which.split(", ")
            seen = self.qdq_json("inspect", self.tuning_input(name)[0], "--regions",
                                 "--region-builder", builder)
            r = self.tune(name, "%s_%s" % (name, builder), "--region-builder", builder)
            return (which, "%.0f %%" % (100 * seen["covered_nodes"] / max(seen["nodes"], 1)),
                    sum(size["leaves"] for size in seen["leaf_sizes"]), r["regions"], r["patterns"],
                    r["builds"],
                    r["timings"], r["seconds"], r["verdict"], interval(r),
                    "-" if r["sqnr_db"] is None else r["sqnr_db"])

        self.table("region_builders", "region builders (coverage and leaves: inspect --regions; "
                                      "the rest: autotune)", header,
                   rows_of(header, row, BUILDERS))

    # --- what it costs, and how well it searches: programs of the tests print it ------------------

    def printed_by(self, test, *patterns):
        """What a test program printed, as the groups of each pattern where it fits."""
        program = os.path.join(self.build, "tests", test)
        if not os.path.exists(program):
            print("%s is missing: it is built with the tests, by `make check`" % program,
                  file=sys.stderr)
            return [[] for _ in patterns]
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, QDQ_BENCH="1"))
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            print("%s: status %d\n%s" % (test, done.returncode, text), file=sys.stderr)
        return [re.findall(pattern, text, re.MULTILINE) for pattern in patterns]

    def regions(self):
        (found,) = self.printed_by("test_tune_speed",
                                 r"^(\S+), (\d+) nodes: regions ([\d.]+) ms, patterns ([\d.]+) ms, "
                                   r"(\d+) groups ([\d.]+) ms, together ([\d.]+) ms")
        self.table("regions", "taking a generated graph apart, processor ms, the least of three "
                              "(asked on ort-cpu: 50 ms for "
                   "6,000 nodes, 1 s for 100,000)",
                   ("target", "nodes", "regions", "patterns and signatures", "slot groups",
                    "groups ms", "together"),
                   [(m[0], int(m[1]), float(m[2]), float(m[3]), int(m[4]), float(m[5]),
                     float(m[6])) for m in found])

    def candidates(self):
        first, trial = self.printed_by("test_tune_speed",
                               r"^first candidate: ([\d.]+) ms, (\d+) KiB, all weights ([\d.]+) MB",
                          r"^a trial: plan ([\d.]+) ms, candidate ([\d.]+) ms \(slowest ([\d.]+)\)")
        rows = [(float(t[0]), float(t[1]), float(t[2]), float(t[0]) + float(t[1]), float(f[0]),
                 int(f[1]), float(f[2]))
                for f, t in zip(first, trial)]
        self.table("candidates", "preparing one candidate of resnet50, 102 MB, means of 20 (asked: "
                                 "5 ms, no weight copied)",
                   ("plan ms", "model ms", "slowest model ms", "together ms",
                    "the first, with all weights, ms",
                    "model KiB", "weights of all MB"), rows)

    def tuning_sim(self):
        found, kept = self.printed_by(
            "test_tune_search",
            r"^(by .*): found ([\d.]+) of the possible gain; at least (-?[\d.]+), above"
            r" 0.97 in (\d+) of "
            r"200; ([\d.]+) trials and profiles, ([\d.]+) ruled out; predicted within ([\d.]+) %",
            r"^([\d.]+) useless candidates kept of 50")
        nulls = self.printed_by("test_tune_measure",
                                r"^null, noise ([\d.]+) %: (\d+) of 2000 kept, ([\d.]+) pairs")[0]
        self.table("tuning_sim", "search where the best is known: 200 seeds of chains, residuals, "
                                 "attention, 0.5 % noise (asked: "
                   "0.97 of the gain; at most 1 of 50 useless candidates kept)",
                   ("how", "of the possible gain", "worst seed", "seeds above 0.97",
                    "trials and profiles", "ruled out",
                    "predicted within %", "useless kept of 50 by trying"),
                   [(*f[:3], int(f[3]), *map(float, f[4:]),
                     kept[0] if f[0] == "by trying" and kept else "-")
                    for f in dict((row[0], row) for row in found).values()])
        self.table("tuning_nulls", "useless candidates behind a control of their own, 2,000 each",
                   ("noise of a leg %", "kept", "of 50", "pairs"),
                   [(float(n), int(k), int(k) / 40, float(p)) for n, k, p in nulls])

    def cut_solver(self):
        (speed,) = self.printed_by("test_cut_speed",
                                   r"^cut, (\w+): 2000 groups ([\d.]+) ms, 20000"
                                   r" groups ([\d.]+) ms")
        self.table("cut_solver", "one minimum cut, processor time, the slowest of five prices of "
                                 "conversions (asked: 100 ms for 2,000 "
                   "groups)", ("graph", "2,000 groups ms", "20,000 groups ms"),
                   [(s, float(a), float(b)) for s, a, b in speed])
        worlds, nulls = self.printed_by(
            "test_tune_mincut_search",
            r"^(.*), (\d+) groups, (\d+) worlds: gap ([\d.]+) %, at most ([\d.]+)"
            r" %; ([\d.]+) builds, at "
            r"most (\d+); predicted within ([\d.]+) %",
            r"^([\d.]+) of 50 null groups kept, in (\d+) of 200 worlds, ([\d.]+)"
            r" measured each(.*)$")
        self.table("cut_worlds", "mincut where the best is known: its time over the best's (asked: "
                                 "0 with exact costs, 2 % with 0.5 % "
                   "noise; 12 builds with the guard's 3)",
                   ("world", "groups", "worlds", "gap %", "at most %", "builds", "at most",
                    "predicted within %"),
                   [(w[0], int(w[1]), int(w[2]), float(w[3]), float(w[4]), float(w[5]), int(w[6]),
                     float(w[7])) for w in worlds])
        self.table("cut_nulls", "50 groups that gain nothing, 0.5 % noise, 200 seeds (asked: 1 "
                                "kept on average)",
                   ("starts", "kept", "worlds with any", "measured"),
                   [("nothing, everything" if n[3] else "nothing", float(n[0]), int(n[1]),
                     float(n[2])) for n in nulls])

    def tuning(self):
        self.tuning_models(MODELS)
        self.tuning_warm()
        self.tuning_blind()
        self.region_builders()
        self.regions()
        self.candidates()
        self.tuning_sim()
        self.cut_solver()
