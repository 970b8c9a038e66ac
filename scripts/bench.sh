#!/usr/bin/env bash
# bench.sh BUILD [PART...] - measures what docs/benchmarks.md reports. Needs the model corpus (models/ in
# QDQ_SHARED, or in ../shared) and a virtual environment with ONNX Runtime's own tool, which it makes under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?the build folder}
shift
models=${QDQ_SHARED:-../shared}/models
if [ ! -d "$models/skeleton" ]; then
    echo "bench: the model corpus is not at $models; set QDQ_SHARED" >&2
    exit 1
fi
python=$build/peer/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$build/peer"
    "$python" -m pip install --quiet onnxruntime==1.31.1 onnx sympy numpy
fi
exec "$python" scripts/bench/bench.py "$build" "$models" "$@"
