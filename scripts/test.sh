#!/bin/sh
# test.sh BUILD [CTEST_OPTION...] - run the tests of a build folder and end with one plain line, for
# people and for .ci/run: "N passed, N failed", and ", N skipped" where something needed was
# missing.
#
# Counted are test cases, not programs: each cmocka program reports its own, and so does a script
# that ends with such a line; other scripts count as one. A program that dies, hangs, leaks or fails
# after its last case adds one failure. No test at all is a failure too.
set -u

build=$1
shift
[ -d "$build" ] || { printf 'test: no build folder %s\n' "$build" \
    >&2; echo "0 passed, 0 failed"; exit 1; }
# A locale with a decimal comma, for the test that numbers in files do not follow it.
locales=$(cd "$build" && pwd)/locales
if [ ! -d "$locales/de_DE.UTF-8" ] && command -v localedef >/dev/null; then
    mkdir -p "$locales"
    localedef -i de_DE -f UTF-8 "$locales/de_DE.UTF-8" 2>/dev/null || rm -rf "$locales/de_DE.UTF-8"
fi
[ ! -d "$locales/de_DE.UTF-8" ] || export LOCPATH="$locales"

# leaks.supp: of libraries that are not ours
export \
    LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")/../tests" && pwd)/leaks.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
# else TBB, which OpenVINO brings, asks dlopen() for what AddressSanitizer cannot bear
export TBB_ENABLE_SANITIZERS=1
# Tests share the cores: a thread of OpenMP that spins while it waits takes one from another test,
# and often from the very thread that it waits for.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"

# Files of tests live for seconds, and each that qdq writes is synced, which on a disk takes as long
# as all the rest: they go to memory, where that has room, and programs may run from it.
memory=/dev/shm
scratch=
room=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 && $1 == "tmpfs" {print $4}')
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -ge 4194304 ] &&
    scratch=$(mktemp -d "$memory/qdq-test-XXXXXX" 2>/dev/null); then
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' HUP INT TERM
    printf '#!/bin/sh\n' >"$scratch/runs" && chmod +x "$scratch/runs"
    if "$scratch/runs" 2>/dev/null; then
        rm "$scratch/runs"
        export TMPDIR="$scratch"
    fi
fi

# One more than there are processors: tests that take longest also wait, for networks, limits of
# time and one another.
jobs=$(($(nproc) + 1))

log=$build/Testing/Temporary/LastTest.log
results=$build/Testing/results.xml
rm -f "$log" "$results"
ctest --test-dir "$build" --output-on-failure --no-tests=error -j $jobs \
    --output-junit "Testing/results.xml" "$@"
status=$?

# The results say of each test how it ended: status="run" (passed), "fail", "notrun" (skipped if a
# <skipped> follows that says so, else its program is missing), "disabled". ctest's log has the
# whole output.
touch "$log" "$results"
awk -v results="$results" '
    FILENAME == results {
        if (match($0, /<testcase name="[^"]*"/)) {
            name = substr($0, RSTART + 16, RLENGTH - 17)
            match($0, /status="[^"]*"/)
            end[name] = substr($0, RSTART + 8, RLENGTH - 9)
            order[++n] = name
        } else if (/<skipped message="SKIP_/)
            end[name] = "skipped"
        next
    }
    /^[0-9]+\/[0-9]+ Test: / { name = $3 }
    # cmocka: "[  PASSED  ] 12 test(s)."
    /^\[  PASSED  \] [0-9]+ test\(s\)/  { passed[name] += $4 }
    /^\[  FAILED  \] [0-9]+ test\(s\)/  { failed[name] += $4 }
    /^\[  SKIPPED \] [0-9]+ test\(s\)/  { skipped[name] += $4 }
    # a script with cases of its own: "9 passed, 2 failed, 1 skipped"
    /^[0-9]+ passed, [0-9]+ failed/ {
        passed[name] += $1; failed[name] += $3
        if ($6 ~ /^skipped/) skipped[name] += $5
    }
    END {
        for (i = 1; i <= n; i++) {
            name = order[i]
            if (end[name] == "disabled")
                continue
            if (end[name] != "run" && end[name] != "skipped" && !failed[name])
                failed[name] = 1
            else if (end[name] == "skipped" && !skipped[name])
                skipped[name] = 1
            else if (passed[name] + failed[name] + skipped[name] == 0)
                passed[name] = 1
            p += passed[name]; f += failed[name]; s += skipped[name]
        }
        printf "%d passed, %d failed", p, f
        if (s > 0) printf ", %d skipped", s
        printf "\n"
        exit f > 0 || p == 0
    }' "$results" "$log"
counted=$?
[ $status -eq 0 ] && [ $counted -eq 0 ]
