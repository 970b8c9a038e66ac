#!/bin/sh
# demo.sh [BUILD] - quantizes the face detector in examples/ultraface by the rules, then tunes it on
# this machine, and shows what that brings. `make demo` installs and builds what this needs; all of
# it ends within two minutes. Where tuning proves nothing faster than float, the plan of the rules
# is shown, and that it was not proven.
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
example=examples/ultraface
out=$build/demo
float=$example/ultraface_rfb320.onnx
rules=$out/ultraface_rfb320.qdq.onnx

mkdir -p "$out"
run() {
    printf '$'
    printf ' %s' "$@"
    printf '\n'
    "$@"
}
run "$build/qdq" quantize "$float" -o "$rules" -f --calib "$example/photos" --mean 127 --std 128
echo
# From the start each time, so that there is a search to be seen.
run "$build/qdq" autotune "$float" -o "$out/tuned" --restart --preset extensive --time 60s \
    --calib "$example/photos" --mean 127 --std 128
echo
shown=$out/tuned/model.onnx
verdict=$(sed -n 's/^ *"verdict": "\([a-z]*\)".*/\1/p' "$out/tuned/report.json")
if [ "$verdict" = float ]; then
    shown=$rules
    echo "Nothing was proven to be faster than float here, so autotune wrote the float model again."
    echo "Times vary where other programs use the processor, and are one thread's: try again when"
    echo "the machine is idle. Below, the plan of the rules is measured instead; where its interval"
    echo "contains 1.00, this is no proof either."
    echo
fi
run "$build/examples/ultraface_demo" "$float" "$shown" "$example/photos" \
    "$example/photos/astronaut_1.jpg" "$out/faces.png"
echo "  by the rules alone: $rules"
echo "  how the search went: $out/tuned/report.html"
