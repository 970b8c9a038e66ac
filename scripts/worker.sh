#!/bin/sh
# worker.sh BUILD - build qdq-worker so that it runs on other machines with this architecture:
# BUILD/portable/qdq-worker, from BUILD/libqdq.a. It needs nothing but glibc, an old one
# (cmake/portable.cmake).
set -eu

cd "$(dirname "$0")/.."
build=$(realpath "$1")
say() { printf 'worker: %s\n' "$*"; }
die() { printf 'worker: error: %s\n' "$*" >&2; exit 1; }
[ -e "$build/libqdq.a" ] || die "there is no $build/libqdq.a: run make first"
scripts/libraries.sh "$build" libzip libspng
log=$build/portable.log
{
    cmake -G Ninja -S . -Wno-dev -B "$build/portable" --log-level=WARNING \
        -DCMAKE_C_COMPILER=gcc "-DQDQ_LIBRARY=$build/libqdq.a" "-DQDQ_ARCHIVES=$build/libraries/lib" \
        -DQDQ_PORTABLE_WORKER=ON -DQDQ_TESTS=OFF &&
        cmake --build "$build/portable" -t qdq-worker
} >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "could not build qdq-worker"; }
say "$build/portable/qdq-worker"
