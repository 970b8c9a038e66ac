#!/bin/bash
# text.sh SOURCE BUILD - the driver of tests/text fails where a file is wrong, and UPDATE=1 mends
# it.
set -euo pipefail
run=$2/tests/run_text
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
file=$work/cases/all_that_can_be_wrong.txt
complain() { echo "text: $*"; cat "$work/out"; exit 1; }

# try WANTED - the last line of a file of one graph is wrong
try() {
    printf '%s\n' "$@" >"$file"
    ! "$run" "$work/cases" >"$work/out" 2>&1 || complain "passes: $*"
}
relu="g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }"
try "run: optimize drop-repeated" "$relu" "stays"
try "run: optimize drop-repeated" "$relu" "refused: it is no Relu"
try "run: optimize drop-repeated" "$relu" "becomes: { y = Neg(x) }"
try "run: optimize drop-nothing" "$relu" "stays"
try "run: optimise drop-repeated" "$relu" "stays"
try "run: infer" "$relu" "type of y: float[3]"
try "run: infer" "$relu" "type of z: float[2]"
try "run: facts" "$relu" "elements of y: 2"
try "run: check" "$relu" "error: a cycle"
try "run: check" "g (float x) => (float y) {" "error: found a number"
try "run: raise 18" "$relu" "unsupported: Relu"
conv="g (float[1,32,8,8] x) => (float[] y) <float[32,32,1,1] w> { y = Conv(x, w) }"
try "run: place ort-cpu" "$conv" "placed: -"
try "run: place ort-cpu" "$conv" "quantized: -"
try "run: place ort-cpu" "$conv" "format of w: int8, axis 1"
try "run: place ort-cpu" "$conv" "reason of y: it is no Conv"
try "run: place ort-cpu exclude=^c" "$conv" "placed: y: QDQ(x) QW(w)" # a warning is missing
try "run: place ort-cpu word" "$conv" "placed: y: QDQ(x) QW(w)"
try "run: quantize ort-cpu" "$conv" "becomes: { y = Conv(x, w) }"
try "run: match y = Relu(x); x = Neg(x)" "$relu" "changes"
try "run: text" "g (float x) => (float y) {" "stays"
try "run: text" "$relu" "stays" # it is printed in several lines
try "run: regions" "$relu" "parts: 0: x > y as y(a) a(x)"
try "run: optimize drop-repeated" "$relu"
try "run: optimize drop-repeated" "frame: g (float x) => (float y) { \$ \$ }" "y = Relu(x)" "stays"
try "run: optimize drop-repeated" "becomes: the same"
try "$relu" "stays"

printf '%s\n' "# Kept." "run: optimize drop-repeated,drop-unused" "" "$relu" "stays" "" \
    "run: infer" "$relu" \
    "type of a: float[1]" "type of y: float[2]" >"$file"
UPDATE=1 "$run" "$work/cases" >"$work/out" 2>&1 || complain "UPDATE=1 fails"
grep -qx -- '-stays' "$work/out" && grep -qx -- '+becomes: { y = Relu(x) }' "$work/out" ||
    complain "shows no difference"
printf '%s\n' "# Kept." "run: optimize drop-repeated,drop-unused" "" "$relu" \
    "becomes: { y = Relu(x) }" "" "run: infer" \
    "$relu" "type of a: float[2]" "type of y: float[2]" | diff - "$file" >"$work/out" ||
    complain "UPDATE=1 writes something else"
"$run" "$work/cases" >"$work/out" 2>&1 || complain "does not pass when updated"
[[ $(ls "$work/cases") == all_that_can_be_wrong.txt ]] || complain "leaves something behind"
