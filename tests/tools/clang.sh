#!/bin/bash
# clang.sh SOURCE BUILD - clang accepts src/ without a warning: each compile command of the build
# with -fsyntax-only -Werror. 77 without clang.
#
# More than half of what clang takes for a file is its own start. The compiler proper, whose command
# `clang -###` prints, takes many files at once. Most of the rest is headers: those that most files
# include are read once for each set of flags. The build, without them, shows what a file lacks.
set -uo pipefail
if ! command -v clang >/dev/null; then
    echo "SKIPPED: clang is missing (scripts/setup.sh --tests installs it)" >&2
    [ "${QDQ_TEST_REQUIRE:-}" = 1 ] && exit 1
    exit 77
fi
cd "$2" || exit 1

# A command is: launcher, compiler, flags from the first -D on, dependency and output files, -c
# FILE. A line here has flags, a tab, and up to 150 files that are compiled with them.
ninja -t commands | sed -nE \
    's/^.*(cc|gcc|clang)(-[0-9]+)? (-D.*) -MD .* -c ([^ ]*\/src\/[^ ]*\.c)$/\3\t\4/p' | sort |
    awk -F '\t' '$1 != flags || n == 150 {if (NR > 1) print ""; printf "%s\t", flags = $1; n = 0}
        {printf " %s", $2; n++} END {print ""}' >clang_syntax.txt
grep -q src/ clang_syntax.txt ||
    { echo "clang: no compile command of src/ was found" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work
printf '#include %s\n' '<ctype.h>' '<errno.h>' '<fcntl.h>' '<inttypes.h>' '<math.h>' '<stdio.h>' \
    '<stdlib.h>' '<string.h>' '<sys/stat.h>' '<unistd.h>' '"qdq/engine.h"' '"qdq/model.h"' \
    '"base/arena.h"' '"base/buf.h"' '"base/fail.h"' '"base/map.h"' '"base/vec.h"' '"ir/ir.h"' \
    >"$work/common.h"

check() { # check FLAGS TAB FILES
    local flags=${1%%$'\t'*} files=${1#*$'\t'} command made
    command=$(eval "clang -### -fsyntax-only -Werror -Wno-unknown-warning-option" \
        "$flags -c ${files##* }" 2>&1 | grep '"-cc1"') ||
        { echo "clang: the command of its compiler was not found" >&2; return 1; }
    command=${command% \"*\"}
    made=$(mktemp "$work/XXXXXX")
    eval "${command/ \"-fsyntax-only\"/ \"-emit-pch\"} -o $made -x c-header $work/common.h" &&
        eval "$command -include-pch $made $files"
}
export -f check
xargs -a clang_syntax.txt -d '\n' -P "$(nproc)" -n 1 bash -c 'check "$1"' _
