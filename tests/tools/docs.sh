#!/bin/bash
# docs.sh SOURCE BUILD - docs/cli.md and docs/man/qdq.1 are what the option tables say,
# docs/passes.md what passes.def says. After a change of those:
#   build/qdq __docs md >docs/cli.md; build/qdq __docs man >docs/man/qdq.1
#   build/qdq __docs passes >docs/passes.md
set -euo pipefail

status=0
check() { # check SOURCE BUILD FORM FILE
    if ! "$2/qdq" __docs "$3" | diff -u "$1/$4" - >&2; then
        echo "docs: $4 is stale: build/qdq __docs $3 >$4" >&2
        status=1
    fi
}
check "$1" "$2" md docs/cli.md
check "$1" "$2" man docs/man/qdq.1
check "$1" "$2" passes docs/passes.md

# Their lines end at 100 columns; those of tables cannot.
long=$(cd "$1" && awk 'length > 100 && !/^\|/ { print FILENAME ":" FNR }' docs/cli.md docs/man/qdq.1 docs/passes.md)
if [ -n "$long" ]; then
    echo "docs: lines of more than 100 columns: $long" >&2
    status=1
fi
# Help texts are short: one phrase without a full stop.
while read -r line; do
    echo "docs: help text of more than 66 characters, or with a full stop: $line" >&2
    status=1
done < <(sed -n 's/^| `-.*` | \(.*\) |$/\1/p' "$1/docs/cli.md" | sed 's/ \[[^]]*\]$//; s/\\|/|/g' |
    awk 'length > 66 || /\.$/' | sort -u)

# The table of presets in docs/autotune.md is the one in the code.
preset='^    {"\([a-z]*\)", \([0-9]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\)},$'
presets=$(sed -n "s/$preset/| \`\1\` | \2 | \3 | \4 | \5 | \6 | \7 | \8 |/p" \
    "$1/src/tune/state/tune_presets.c" | sed 's/| 0 \(| [0-9]* | [0-9]* |\)$/| no bound \1/')
if [ "$(wc -l <<<"$presets")" -lt 3 ]; then
    echo "docs: found no presets in tune_presets.c" >&2
    status=1
fi
while read -r row; do
    if ! grep -qxF -- "$row" "$1/docs/autotune.md"; then
        echo "docs: docs/autotune.md lacks the preset $row" >&2
        status=1
    fi
done <<<"$presets"

# docs/autotune.md has a row for each strategy that users can name.
strategies=$(sed -n 's/^    STRATEGY([A-Z_]*, \([a-z_]*\)).*/\1/p' "$1/include/qdq/tune.h")
if [ -z "$strategies" ]; then
    echo "docs: found no strategies in tune.h" >&2
    status=1
fi
for name in $strategies; do
    if ! grep -q "^| \`$name\` |" "$1/docs/autotune.md"; then
        echo "docs: docs/autotune.md lacks the strategy $name" >&2
        status=1
    fi
done

# A mistake in the man page's macros shows as a warning of the formatter, where there is one.
if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -ww -z "$1/docs/man/qdq.1" 2>&1)
    if [ -n "$warnings" ]; then
        echo "docs: qdq.1: $warnings" >&2
        status=1
    fi
fi
exit $status
