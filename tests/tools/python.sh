#!/bin/bash
# python.sh SOURCE BUILD - the Python package as users get it: one wheel is built and installed into
# a fresh environment, without a compiler and without network, and the quick part of its tests runs
# there. QDQ_PYTEST_ARGS chooses another part: "" is all.
set -euo pipefail
cd "$1"
source=$PWD
build=$(realpath "$2")
packages=$source/build/wheel/packages
die() { echo "python: $*" >&2; exit 1; }

if [ ! -e "$packages/complete" ]; then
    echo "python: skipped: no packages (scripts/setup.sh --with-python)"
    exit 77
fi
if grep -qE '^QDQ_(SANITIZE|COVERAGE):BOOL=ON' "$build/CMakeCache.txt"; then
    echo "python: skipped in a build for other checks"
    exit 77
fi
scripts/wheel.sh "$build" || die "the wheel was not built"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
install() { "$work/venv/bin/python" -m pip install --disable-pip-version-check -q --no-index \
    --find-links "$packages" "$@"; }
install "$build"/dist/*.whl || die "the wheel cannot be installed"
(cd "$work" && env -u QDQ_ORT_LIBRARY venv/bin/python -c 'import qdq; qdq.optimize' &&
    venv/bin/qdq --version >/dev/null) || die "it does not work with cffi and numpy alone"
install pytest onnx onnx_ir mypy
ort=$(ls "$build"/ort/libonnxruntime.so.1 2>/dev/null || true)
export QDQ_ORT_LIBRARY=${QDQ_ORT_LIBRARY:-$ort}
(cd "$work" && timeout 60 venv/bin/python -m mypy --strict --config-file "$source/pyproject.toml" \
    -p qdq) || die "mypy"
(cd "$work" && venv/bin/python -m pytest -q -p no:cacheprovider -c "$source/pyproject.toml" \
    "$source/python/tests" ${QDQ_PYTEST_ARGS--m "not slow"}) | tee "$work/log" || true
line=$(tail -n 1 "$work/log")
count() { grep -oE "[0-9]+ $1" <<<"$line" | cut -d ' ' -f 1 || true; }
passed=$(count passed) failed=$(($(count failed) + $(count error) + 0)) skipped=$(count skipped)
[ "${passed:-0}" -gt 0 ] || failed=$((failed + 1))
echo "${passed:-0} passed, $failed failed${skipped:+, $skipped skipped}"
[ $failed = 0 ]
