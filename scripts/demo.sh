#!/bin/sh
# demo.sh [BUILD] - quantizes the face detector in examples/ultraface with the tool, then shows what that brings.
# `make demo` installs and builds what this needs.
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
    --plan-out "$out/plan.json" --calib "$example/photos" --mean 127,127,127 --std 128,128,128
echo
run "$build/examples/ultraface_demo" "$example/ultraface_rfb320.onnx" "$out/ultraface_rfb320.qdq.onnx" \
    "$example/photos" "$example/photos/astronaut_1.jpg" "$out/faces.png"
echo "  plan: $out/plan.json"
