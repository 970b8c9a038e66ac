#!/bin/sh
# fuzz.sh BUILD SECONDS - run each libFuzzer target for a while, starting from
# tests/fuzz/corpus/<name>. What it learns stays in BUILD/corpus/<name>; an input that breaks the
# target is kept in BUILD/found and named: copy it to tests/fuzz/corpus/<name>, where `make check`
# replays it for good.
set -u

build=$1
seconds=$2
passed=0
failed=0

for program in "$build"/tests/fuzz_*; do
    [ -x "$program" ] || continue
    name=${program##*/fuzz_}
    mkdir -p "$build/corpus/$name" "$build/found"
    echo "fuzz: $name, $seconds s"
    if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=0 \
        -verbosity=0 -artifact_prefix="$build/found/$name-" \
        "$build/corpus/$name" "tests/fuzz/corpus/$name" >"$build/$name.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 40 "$build/$name.log" >&2
        echo "fuzz: $name failed, see $build/$name.log and $build/found/$name-*" >&2
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
