#!/usr/bin/env bash
# bench.sh BUILD [PART...] - measures what docs/benchmarks.md reports; PART: inspect, graph_sizes,
# quantize, optimize, tuning, engines, openvino, openvino_tuning, subgraph, subgraph_greedy,
# subgraph_blind, or a part of these (docs/benchmarks.md names them). Needs virtual environments
# with the peers, which it makes under build/: NNCF and Model-Optimizer bring gigabytes; QDQ_PEERS
# names the Python of an environment that has them (requirements_peers.txt).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?the build folder}
shift
models=tests/models

environment() { # environment FOLDER REQUIREMENTS
    cmp -s "$2" "$1/requirements.txt" && return
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet -r "$2"
    # Model-Optimizer brings ONNX Runtime for GPUs, which writes over the one for processors.
    if "$1/bin/python" -m pip show --quiet onnxruntime-gpu 2>/dev/null; then
        "$1/bin/python" -m pip uninstall --quiet --yes onnxruntime-gpu
        "$1/bin/python" -m pip install --quiet --force-reinstall \
            --no-deps "$(grep ^onnxruntime== "$2")"
    fi
    cp "$2" "$1/requirements.txt"
}

environment "$build/peer" scripts/bench/requirements.txt
peers=${QDQ_PEERS:-$build/peers/bin/python}
case " ${*:-quantize} " in
*\ quantize* | *\ openvino* | *\ subgraph*) [ -n "${QDQ_PEERS:-}" ] ||
    environment "$build/peers" scripts/bench/requirements_peers.txt ;;
esac
exec "$build/peer/bin/python" scripts/bench/bench.py "$build" "$models" "$peers" "$@"
