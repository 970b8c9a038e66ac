#!/usr/bin/env bash
# bench.sh BUILD [PART...] - measures what docs/benchmarks.md reports. Needs the model corpus (models/ in
# QDQ_SHARED, or in ../shared) and a virtual environment with the peers (scripts/bench/requirements.txt), which it
# makes under build/.
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
wanted=scripts/bench/requirements.txt
if ! cmp -s $wanted "$build/peer/requirements.txt"; then
    python3 -m venv "$build/peer"
    "$python" -m pip install --quiet -r $wanted
    cp $wanted "$build/peer/requirements.txt"
fi
exec "$python" scripts/bench/bench.py "$build" "$models" "$@"
