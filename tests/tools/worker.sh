#!/bin/bash
# worker.sh SOURCE BUILD - the qdq-worker of scripts/worker.sh needs nothing but glibc, no symbol of
# a version above the one that cmake/portable.cmake promises, and runs; so does the one for aarch64,
# where it was built. Stand-ins for glibc have the versions that were asked for.
set -euo pipefail
source=$1 build=$2
bad=0
complain() { echo "worker: $*"; bad=1; }
newer() { # newer A B: is version A above version B?
    [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]
}


if ! grep -q 'CMAKE_C_COMPILER_ID "GNU"' "$build"/CMakeFiles/*/CMakeCCompiler.cmake ||
    grep -qE '^QDQ_(SANITIZE|COVERAGE):BOOL=ON' "$build/CMakeCache.txt"; then
    echo "worker: skipped, as GCC alone links such programs, without instruments"
    exit 77
fi
promised=$(sed -n 's/^set(QDQ_OLD_GLIBC \([0-9.]*\).*/\1/p' "$source/cmake/portable.cmake")
[ -n "$promised" ] || complain "cmake/portable.cmake promises no version"
"$source/scripts/worker.sh" "$build"
program=$build/portable/qdq-worker

check() { # check PROGRAM: prints the version of glibc that it needs
    local program=$1 name version highest=0
    while read -r name; do
        case $name in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2 | \
            ld-linux-aarch64.so.1) ;;
        *) complain "$program needs $name" ;;
        esac
    done < <(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
    while read -r version; do
        ! newer "$version" "$highest" || highest=$version
    done < <(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -u)
    [ "$highest" != 0 ] || complain "$program: no symbol of glibc was found"
    ! newer "$highest" "$promised" ||
        complain "$program needs glibc $highest, expected at most $promised:" \
            "$(objdump -T "$program" | grep -F "GLIBC_$highest" | awk '{print $NF}' | tr '\n' ' ')"
    echo "worker: $program needs glibc $highest"
}

check "$program"
# other architectures have readelf in common, but no objdump
if [ -x "$build/aarch64/qdq-worker" ] && command -v aarch64-linux-gnu-objdump >/dev/null; then
    objdump() { aarch64-linux-gnu-objdump "$@"; }
    check "$build/aarch64/qdq-worker"
    unset -f objdump
fi

# Nothing is missing that is only found at run time.
LD_BIND_NOW=1 "$program" </dev/null >/dev/null 2>&1 || code=$?
[ "${code:-0}" -lt 126 ] || complain "qdq-worker ended with code $code"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$source/scripts/old_glibc.sh" cc 2.27 "$work/old"
symbols=$(readelf --dyn-syms -W "$work/old/libc.so.6")
grep -q ' memfd_create@@GLIBC_2\.27' <<<"$symbols" || complain "no memfd_create of glibc 2.27"
! grep -qE ' (stat|sigabbrev_np)@' <<<"$symbols" || complain "found symbols above glibc 2.27"
addresses=$(awk '$8 ~ /^_?_?environ@/ {print $2}' <<<"$symbols" | sort | uniq -c)
[ "$(awk '{print $1}' <<<"$addresses")" = 3 ] || complain "environ and __environ are apart"
if sh "$source/scripts/old_glibc.sh" false 2.27 "$work/none" 2>/dev/null; then
    complain "a compiler that finds no library is accepted"
fi
exit $bad
