# Values that no option of quantize takes; those of formats are in formats_wrong, those of data in
# options/bad_values.
try() {
    qdq quantize m.onnx -o q.onnx "$@"
    echo "$* -> $?"
}
try --samples 0
try -n x
try --threads -1
try --threads 1025
try --method best
try --percentile 50
try --percentile 101
try --percentile high
try --percentile 99
try --method max --percentile 99
try --calib ''
try --target ''
try --plan ''
try --plan-out ''
try --why ''
try --include ''
try --exclude-op-types Conv,
try --set ''
try --rest-keep ''
try --layout hwc
try --channel-order grb
try --shape x
try --shape x=0
try --engine ''
try --engine nowhere
try --config ''
try --sqnr=yes
try --optimize=on
try --no-method
try --no-samples 3
