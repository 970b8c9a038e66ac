#!/bin/bash
# demo.sh SOURCE BUILD - what `make demo` shows where tuning proves nothing faster than float: not
# the float model beside itself, but the plan of the rules, and a word on why. The programs that it
# calls are stand-ins.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/examples"
cat >"$work/qdq" <<'END'
#!/bin/sh
[ "$1" = autotune ] || exit 0
mkdir -p "$4"
printf '{\n  "phase": "done",\n  "verdict": "%s",\n  "seconds": 1\n}\n' "$VERDICT" >"$4/report.json"
END
printf '#!/bin/sh\necho "compares $1 with $2"\n' >"$work/examples/ultraface_demo"
chmod +x "$work/qdq" "$work/examples/ultraface_demo"
failed=0
try() { # VERDICT MODEL WARNINGS: the model that is shown, how often it says that none is faster
    VERDICT=$1 "$source/scripts/demo.sh" "$work" >"$work/out.txt" || failed=1
    if ! grep -q "^compares .*ultraface_rfb320.onnx with $work/demo/$2$" "$work/out.txt" ||
        [ "$(grep -c '^Nothing was proven' "$work/out.txt")" != "$3" ]; then
        echo "demo: verdict $1:"
        cat "$work/out.txt"
        failed=1
    fi
}
source=$1
try float ultraface_rfb320.qdq.onnx 1
try rules tuned/model.onnx 0
try tuned tuned/model.onnx 0
exit $failed
