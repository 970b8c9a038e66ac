#!/bin/bash
# install.sh SOURCE BUILD - what `make install` puts down is enough for a stranger's program: it is
# compiled against a moved installation by pkg-config, by CMake with the shared library, and by
# CMake with the static one.
set -euo pipefail

build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() { echo "install: $*" >&2; exit 1; }

# A sanitizer's run time would have to come first in the stranger's program: there is nothing to
# learn there.
if grep -q '^QDQ_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
    echo "install: skipped in a sanitizer build"
    exit 77
fi

cmake --install "$build" --prefix "$work/first" >"$work/log" ||
    { cat "$work/log"; die "cmake --install failed"; }
mv "$work/first" "$work/moved" # nothing installed may name the place that it was installed to
root=$work/moved
if grep -rIl -e "$work/first" -e "$build" "$root"; then
    die "these files name the prefix or the build folder"
fi

for file in include/qdq/qdq.h include/qdq/status.h; do
    [ -f "$root/$file" ] || die "$file is missing"
done
pc=$(find "$root" -name qdq.pc)
[ -n "$pc" ] || die "qdq.pc is missing"
libdir=$(dirname "$(dirname "$pc")")
[ -f "$libdir/libqdq.a" ] && [ -e "$libdir/libqdq.so" ] || die "a library is missing in $libdir"
find "$root" -path '*/include/*' -type f ! -path '*/include/qdq/*' | grep . &&
    die "headers outside include/qdq"

# What set-up unpacked is installed along, and the installed tool finds it.
if ls "$build"/ort/libonnxruntime.so.1.* >/dev/null 2>&1; then
    env -u QDQ_ORT_LIBRARY "$root/bin/qdq" engines ort >"$work/engines" ||
        die "the installed tool finds no engine"
    grep -q "$root/bin/../lib/qdq\|$libdir/qdq" "$work/engines" ||
        die "the installed tool took another engine: $(cat "$work/engines")"
fi

# So does a program that was linked with the installed library, which reads no environment.
if ls "$build"/ort/libonnxruntime.so.1.* >/dev/null 2>&1; then
    cat >"$work/engine.c" <<'END'
#include <qdq/qdq.h>
#include <stdio.h>
int main(void)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = NULL;

    if (qdq_engine_open("ort", NULL, &e, &err) != QDQ_OK)
        return printf("%s\n", err.text), 1;
    printf("%s\n", qdq_engine_get_info(e)->library);
    qdq_engine_close(e);
    return 0;
}
END
    cc -I "$root/include" "$work/engine.c" -L "$libdir" -lqdq -o "$work/engine"
    found=$(env -u QDQ_ORT_LIBRARY LD_LIBRARY_PATH="$libdir" "$work/engine") ||
        die "the installed library finds no engine: $found"
    [[ $found == "$libdir/qdq/"* ]] || die "the installed library took another engine: $found"
fi

cat >"$work/stranger.c" <<'END'
#include <qdq/qdq.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_load("/nonexistent/model.onnx", NULL, &m, &err);

    printf("%s %s\n", qdq_version(), qdq_status_name(st));
    return st == QDQ_E_IO && m == NULL && strstr(err.text, "model.onnx") != NULL ? 0 : 1;
}
END
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")

check() { # check HOW PROGRAM
    local out
    out=$(LD_LIBRARY_PATH=$libdir "$2") || die "$1: the program failed: $out"
    [ "$out" = "$version io" ] || die "$1: the program printed '$out', expected '$version io'"
}

export PKG_CONFIG_PATH=$libdir/pkgconfig
[ "$(pkg-config --modversion qdq)" = "$version" ] || die "pkg-config: wrong version"
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror "$work/stranger.c" $(pkg-config --cflags --libs qdq) \
    -o "$work/by_pkgconfig"
check pkg-config "$work/by_pkgconfig"

mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES C)
find_package(qdq 0.1 REQUIRED COMPONENTS static)
add_executable(shared ../stranger.c)
target_link_libraries(shared PRIVATE qdq::qdq)
add_executable(static ../stranger.c)
target_link_libraries(static PRIVATE qdq::qdq_static)
END
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$root" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake/build" >>"$work/log" 2>&1 ||
        { cat "$work/log"; die "find_package(qdq) does not work"; }
check "CMake, shared" "$work/cmake/build/shared"
check "CMake, static" "$work/cmake/build/static"

# Programs find the library after `make install` by root: the loader's cache has to learn of it. Not
# in a package's folder.
mkdir "$work/bin"
for program in cmake id ldconfig; do
    printf '#!/bin/sh\necho %s >>"%s"\n[ %s != id ] || echo 0\n' $program "$work/ran" $program \
        >"$work/bin/$program"
    chmod +x "$work/bin/$program"
done
install_as_root() { # install_as_root SOURCE DESTDIR: prints what `make install` runs
    rm -f "$work/ran"
    PATH=$work/bin:$PATH env -u MAKEFLAGS make -s -C "$1" -o all install "DESTDIR=$2" PREFIX=/usr/local >&2
    grep -v '^id$' "$work/ran" | tr '\n' ' '
}
ran=$(install_as_root "$1" "")
[ "$ran" = "cmake ldconfig " ] || die "make install ran '$ran', expected cmake and ldconfig"
ran=$(install_as_root "$1" "$work/package")
[ "$ran" = "cmake " ] || die "make install with DESTDIR ran '$ran', expected cmake alone"

# The program that runs engines lies where the tool looks first: beside it.
[ "$("$root/bin/qdq-worker" --version)" = "qdq-worker $version" ] ||
    die "the installed worker does not run"

if [ -x "$root/bin/qdq" ]; then
    "$root/bin/qdq" --version | grep -qF "$version" ||
        die "the installed tool does not print its version"
    for file in share/bash-completion/completions/qdq share/zsh/site-functions/_qdq \
        share/fish/vendor_completions.d/qdq.fish share/man/man1/qdq.1; do
        [ -s "$root/$file" ] || die "$file is missing"
    done
fi
