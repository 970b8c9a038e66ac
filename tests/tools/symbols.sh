#!/bin/bash
# symbols.sh SOURCE BUILD - every symbol with external linkage begins with qdq_; the shared library
# exports what include/qdq declares with QDQ_API, all of it and nothing else, with versions; the
# library keeps no mutable globals.
set -euo pipefail
source=$1 build=$2
bad=0
complain() { echo "symbols: $*"; bad=1; }

# Sanitizers and coverage add globals of their own.
if grep -qE '^QDQ_SANITIZE:BOOL=ON|^CMAKE_C_FLAGS:.*(-fsanitize|--coverage)' \
    "$build/CMakeCache.txt"; then
    echo "symbols: skipped in an instrumented build"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The preprocessor turns QDQ_API into an attribute like others: put a mark there first, take the
# others out after.
# What is declared is the first name in front of a parenthesis. Names that begin with a dot are the
# compiler's: clang has a lock for reductions of OpenMP.
for header in "$source"/include/qdq/*.h; do
    sed -E '/^# *define QDQ_API/!s/\<QDQ_API\>/DECLARED_HERE/' "$header" >"$work/${header##*/}"
done
cc -std=c11 -E -P "$work/qdq.h" | tr '\n' ' ' |
    sed -E 's/__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)//g' |
        grep -oE 'DECLARED_HERE[^;]*;' |
    sed -E 's/^[^(]*[^a-z0-9_](qdq_[a-z0-9_]+) *\(.*/\1/' | sort -u >"$work/declared"
[ -s "$work/declared" ] || complain "no declaration was found in include/qdq"

nm -D --defined-only "$build/libqdq.so" |
    awk '$2 != "A" && $3 !~ /^\./ {print $3}' >"$work/versioned"
sed 's/@.*//' "$work/versioned" | sort -u >"$work/exported"
while read -r name; do
    complain "libqdq.so exports $name without a version: see cmake/libqdq.map"
done < <(grep -v '@@*QDQ_[0-9.]*$' "$work/versioned" || true)
while read -r name; do
    complain "libqdq.so exports $name, which no header in include/qdq declares with QDQ_API"
done < <(comm -13 "$work/declared" "$work/exported")
while read -r name; do
    complain "include/qdq declares $name, which libqdq.so does not export"
done < <(comm -23 "$work/declared" "$work/exported")

while read -r name; do
    complain "libqdq.a: '$name' is external, and its name does not begin with qdq_"
done < <(nm -A --defined-only --extern-only "$build/libqdq.a" | awk '{print $NF}' |
    grep -vE '^(qdq_|\.)' | sort -u || true)

# The fields are: file and name, value, class, type, size, line, section. Constants with addresses
# in them lie in
# .data.rel.ro.
while IFS='|' read -r name _ _ type _ _ section; do
    complain "'${name##*:}' is a mutable global in $section"
done < <(nm -f sysv --defined-only "$build/libqdq.a" | tr -d ' ' | grep -E '\|OBJECT\||\|TLS\|' |
    grep -E '\|(\.t?bss|\.t?data|\*COM\*)[^|]*$' | grep -vE '\|\.data\.rel\.ro[^|]*$|^\.' |
        sort -u || true)

exit $bad
