"""The part of the benchmark about `qdq autotune --mode subgraph`: what it ships against our rules,
region mode and the peers, what it costs, and what it finds without being told."""
import os

from quantizing import PEERS
from tuning import BARE, interval, off_by, rows_of

MODELS = ("mobilenet_v2", "convnext_tiny", "vit_b_32")
ENGINES = ("ort", "openvino")
BUILDS = 12
SUBGRAPH = ("--mode", "subgraph")


class Subgraph:
    """Needs of Bench, Quantizing, Tuning and OpenVINO: tune(), tuning_input(), rules_file(),
    for_openvino(), peer_file(), table(), qdq_json()."""

    def rules_for(self, name, engine):
        return self.for_openvino(name) if engine == "openvino" else self.rules_file(name)

    def over(self, final, files, engine):
        """By name: how many times as fast the final model is as each of these, all in the same
        rounds."""
        there = [key for key in files if files[key]]
        bench = self.qdq_json("bench", final, *(files[key] for key in there), "--rounds",
                              str(self.rounds), "--threads", "1",
                              "--engine", engine)
        # a ratio of `bench` is final / other: turned round here
        return {key: dict(x, speedup=1 / x["speedup"], ci_low=1 / x["ci_high"],
                          ci_high=1 / x["ci_low"])
                for key, x in zip(there, bench["ratios"][1:])}

    def subgraph_row(self, name, engine, strategy):
        on = ("--engine", engine)
        r = self.tune(name, "%s_%s_%s" % (name, engine, strategy), *on, *SUBGRAPH, "--strategy",
                      strategy)
        region = self.tune(name, "%s_%s_region" % (name, engine), *on)
        model = self.tuning_input(name)[0]
        files = {"rules": self.rules_for(name, engine), "region": os.path.join(region["folder"],
                                                                               "model.onnx"),
                 "float": model}
        for peer in PEERS:
            files[peer] = self.peer_file(peer, name, model, self.samples())
        over = self.over(os.path.join(r["folder"], "model.onnx"), files, engine)
        best = min((key for key in over if key != "float"), key=lambda key: over[key]["speedup"])
        return (name, engine, r["verdict"], interval(over["rules"]), interval(over["region"]),
                interval(over[best]), best,
                "%.3f" % (1 / over[best]["speedup"]), interval(over["float"]),
                off_by(r["predicted_ms"], r["final_ms"]),
                r["builds"], region["builds"], r["seconds"], r["wall"])

    SUBGRAPH_HEADER = ("model", "engine", "verdict", "rules / final", "region mode / final",
                       "best of these and the peers / final",
                       "best", "final / best", "float / final", "predicted, off by", "builds",
                       "region's", "s", "process s")

    def subgraph(self, engines=ENGINES):
        def row(both):
            return self.subgraph_row(*both.split(", "), "mincut")

        self.table("subgraph", "qdq autotune --mode subgraph, one thread (asked: final / best at "
                               "most 1.01; rules / final 1.03 on two; "
                   "at most 12 builds, and region mode's; convnext_tiny on ort in 180 s)",
                   self.SUBGRAPH_HEADER,
                   rows_of(self.SUBGRAPH_HEADER, row, ["%s, %s" % (m,
                                                                   e) for e in engines
                                                       for m in MODELS]))

    def subgraph_ort(self):
        self.subgraph(("ort",))

    def subgraph_openvino(self):
        self.subgraph(("openvino",))

    def subgraph_greedy(self):
        """The other strategy: groups apart, merged, validated."""
        header = ("model", "verdict", "rules / final", "mincut / final", "groups proposed", "kept",
                  "builds", "of groups", "s")

        def row(name):
            r = self.tune(name, name + "_greedy", *SUBGRAPH, "--strategy", "greedy")
            cut = self.tune(name, name + "_mincut", *SUBGRAPH, "--strategy", "mincut")
            over = self.over(os.path.join(r["folder"], "model.onnx"),
                             {"rules": self.rules_file(name), "mincut": os.path.join(cut["folder"],
                                                                                     "model.onnx")},
                             "ort")
            return (name, r["verdict"], interval(over["rules"]), interval(over["mincut"]),
                    len(r["decisions"]), r["kept"], r["builds"],
                    r["apart_builds"], r["seconds"])

        self.table("subgraph_greedy", "qdq autotune --mode subgraph --strategy greedy on ONNX "
                                      "Runtime, one thread", header,
                   rows_of(header, row, MODELS))

    def subgraph_blind(self):
        """A target that says what is legal and not what pays."""
        header = ("model", "verdict", "full target's rules / final, afresh", "predicted, off by",
                  "builds", "s")

        def row(name):
            r = self.tune(name, name + "_subgraph_blind", "--target", BARE, *SUBGRAPH,
                          "--max-builds", str(BUILDS))
            over = self.over(os.path.join(r["folder"], "model.onnx"),
                             {"rules": self.rules_file(name)}, "ort")
            return (name, r["verdict"], interval(over["rules"]), off_by(r["predicted_ms"],
                                                                        r["final_ms"]), r["builds"],
                    r["seconds"])

        self.table("subgraph_blind", "qdq autotune --mode subgraph with a target without rules, at "
                                     "most %d builds (asked: 0.97, predicted "
                   "within 3 %%)" % BUILDS, header, rows_of(header, row, MODELS))
