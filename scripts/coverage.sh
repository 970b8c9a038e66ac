#!/bin/bash
# coverage.sh BUILD - after the tests of a build with QDQ_COVERAGE: the lines and branches of src/
# that ran, for each folder, as a table. Fails below the limits here. UPDATE=1 writes the table into
# CONTRIBUTING.md.
set -euo pipefail

least_lines=95    # percent, in each folder
least_branches=88 # percent, of all
build=$(realpath "$1")
cd "$(dirname "$0")/.."
table=$(mktemp)
trap 'rm -f "$table"' EXIT

# Columns of the CSV: filename, line_total, line_covered, line_percent, branch_total,
# branch_covered, branch_percent, ...
gcovr --root . --filter src/ -j "$(nproc)" --gcov-ignore-parse-errors "$build" --csv |
    awk -F, -v least_lines=$least_lines -v least_branches=$least_branches -v table="$table" '
    BEGIN { split("base ir onnx target opt engine report quant tune worker cli", order, " ") }
    NR > 1 {
        split($1, part, "/")
        lines[part[2]] += $2; run[part[2]] += $3
        branches[part[2]] += $5; taken[part[2]] += $6
    }
    function percent(some, all) { return all > 0 ? 100 * some / all : 0 }
    function row(name, l, r, b, t) {
        printf "| %s | %d | %.1f %% | %d | %.1f %% |\n", name, l, percent(r, l), b, percent(t, b) >table
    }
    END {
        print "| folder | lines | run | branches | taken |\n|---|---|---|---|---|" >table
        for (i = 1; i in order; i++) {
            f = order[i]
            row("`" f "/`", lines[f], run[f], branches[f], taken[f])
            if (percent(run[f], lines[f]) < least_lines)
                failed = failed sprintf("coverage: src/%s: found %.1f %% of the lines, expected %d %%\n", f,
                                        percent(run[f], lines[f]), least_lines)
            l += lines[f]; r += run[f]; b += branches[f]; t += taken[f]
        }
        row("all", l, r, b, t)
        if (percent(t, b) < least_branches)
            failed = failed sprintf("coverage: found %.1f %% of the branches, expected %d %%\n", percent(t, b), least_branches)
        printf "%s", failed >"/dev/stderr"
        exit failed != ""
    }' || failed=1
cat "$table"
if [ "${UPDATE:-}" = 1 ]; then
    awk -v table="$table" '
        /^<!-- coverage -->$/ { print; while ((getline line <table) > 0) print line; skip = 1; next }
        /^<!-- end -->$/ { skip = 0 }
        !skip' CONTRIBUTING.md >"$table.new"
    cat "$table.new" >CONTRIBUTING.md
    rm "$table.new"
fi
exit "${failed:-0}"
