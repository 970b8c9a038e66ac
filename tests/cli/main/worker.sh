# What qdq-worker does by itself: its version, the trial of AMX (which may end in a signal where a
# processor promises too much), and a word to whoever starts it by hand.
"$BUILD/qdq-worker" --version | sed 's/ [0-9][0-9.]*$/ VERSION/'
for isa in AVX512_CORE_VNNI AVX2; do
    ONEDNN_MAX_CPU_ISA=$isa "$BUILD/qdq-worker" --probe-amx
    echo "without AMX: $?"
done
("$BUILD/qdq-worker" --probe-amx; DNNL_MAX_CPU_ISA=ALL "$BUILD/qdq-worker" --probe-amx) >/dev/null \
    2>&1
"$BUILD/qdq-worker" </dev/null
echo "by hand: $?"
"$BUILD/qdq-worker" --help
echo "with an option: $?"
