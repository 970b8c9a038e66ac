#!/bin/sh
# demo.sh [BUILD] - quantizes the face detector in examples/ultraface by the rules, then tunes it on
# this machine, and shows what that brings. `make demo` installs and builds what this needs; all of
# it ends within two minutes.
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
example=examples/ultraface
out=$build/demo

mkdir -p "$out"
run() {
    printf '$'
    printf ' %s' "$@"
    printf '\n'
    "$@"
}
run "$build/qdq" quantize "$example/ultraface_rfb320.onnx" -o "$out/ultraface_rfb320.qdq.onnx" -f \
    --calib "$example/photos" --mean 127 --std 128
echo
# Anew each time, so that there is a search to be seen.
run "$build/qdq" autotune "$example/ultraface_rfb320.onnx" -o "$out/tuned" --restart \
    --preset extensive --time 60s \
    --calib "$example/photos" --mean 127 --std 128
echo
run "$build/examples/ultraface_demo" "$example/ultraface_rfb320.onnx" "$out/tuned/model.onnx" \
    "$example/photos" "$example/photos/astronaut_1.jpg" "$out/faces.png"
echo "  by the rules alone: $out/ultraface_rfb320.qdq.onnx"
echo "  how the search went: $out/tuned/report.html"
