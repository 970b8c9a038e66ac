#!/bin/bash
# clang.sh SOURCE BUILD - clang accepts src/ without a warning: each compile command of the build
# with
# -fsyntax-only -Werror. 77 without clang.
set -uo pipefail
if ! command -v clang >/dev/null; then
    echo "SKIPPED: clang is missing (scripts/setup.sh --tests installs it)" >&2
    [ "${QDQ_TEST_REQUIRE:-}" = 1 ] && exit 1
    exit 77
fi
cd "$2" || exit 1
# A command is: launcher, compiler, flags from the first -D on, dependency and output files, -c
# FILE.
ninja -t commands | sed -nE \
    's/^.*(cc|gcc|clang)(-[0-9]+)? (-D.*) -MD .* (-c [^ ]*\/src\/[^ ]*\.c)$/\3 \4/p' \
    >clang_syntax.txt
[ -s clang_syntax.txt ] || { echo "clang: no compile command of src/ was found" >&2; exit 1; }
xargs -a clang_syntax.txt -d '\n' -P "$(nproc)" -n 1 \
    bash -c 'eval "clang -fsyntax-only -Werror -Wno-unknown-warning-option $1"' _
