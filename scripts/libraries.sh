#!/bin/sh
# libraries.sh BUILD NAME... - compile libraries of others into archives below BUILD/libraries/,
# from the sources of the Debian release that runs, which apt-get checks: `jansson`, `libzip`
# (without cryptography), `libjpeg-turbo`, `libspng`. For what is linked statically: the Python
# package, and qdq-worker for other machines. What is there is left alone. CROSS=aarch64-linux-gnu
# compiles for that machine.
set -eu

cd "$(dirname "$0")/.."
mkdir -p "$1/libraries"
root=$(realpath "$1/libraries")
shift
sources=$root/sources
cc=${CROSS:+$CROSS-}gcc
say() { printf 'libraries: %s\n' "$*"; }
die() { printf 'libraries: error: %s\n' "$*" >&2; exit 1; }
quietly() { # quietly COMMAND...: its output only where it fails
    "$@" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; die "failed: $*"; }
}

exec 9>"$root/lock" # two tests may want them at once
flock 9
missing=
for name in "$@"; do
    [ -e "$root/$name.complete" ] || missing="$missing $name"
done
[ -n "$missing" ] || exit 0
say "compiling$missing"

# The sources of the release that runs, by a list of our own: the system's stays as it is.
fetch_sources() { # fetch_sources NAME...
    command -v dpkg-source >/dev/null || die "no dpkg-source, expected Debian's package dpkg-dev"
    # shellcheck disable=SC1091
    . /etc/os-release
    rm -rf "$sources"
    mkdir -p "$sources/lists" "$sources/cache" "$root/lib/pkgconfig" "$root/include"
    echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm} main" \
        >"$sources/sources.list"
    wanted=$*
    set -- -o "Dir::Etc::sourcelist=$sources/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$sources/lists" -o "Dir::Cache=$sources/cache" \
        -o APT::Sandbox::User=root
    quietly apt-get "$@" update
    # shellcheck disable=SC2086
    (cd "$sources" && quietly apt-get "$@" source $wanted)
}

folder_of() { # folder_of NAME: its sources
    folder=$(find "$sources" -maxdepth 1 -type d -name "$1-*" | head -n 1)
    [ -n "$folder" ] || die "no sources of $1"
}

build_target() { # build_target NAME TARGET OPTION...
    folder_of "$1"
    target=$2
    shift 2
    quietly cmake -G Ninja -S "$folder" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
        ${CROSS:+--toolchain "$PWD/cmake/$CROSS.cmake"} \
        -DCMAKE_INSTALL_PREFIX="$root" -DCMAKE_INSTALL_LIBDIR:STRING=lib "$@"
    quietly cmake --build "$folder/build" -t "$target"
}

cmake_library() { # cmake_library NAME OPTION...
    library=$1
    shift
    build_target "$library" all "$@"
    quietly cmake --install "$folder/build"
}

# shellcheck disable=SC2086
fetch_sources $missing
for name in $missing; do
    case $name in
    jansson)
        cmake_library jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON \
            -DJANSSON_EXAMPLES=OFF ;;
    libzip)
        cmake_library libzip -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF \
            -DENABLE_OPENSSL=OFF -DHAVE_ARC4RANDOM=OFF -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF \
            -DENABLE_ZSTD=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF \
            -DBUILD_DOC=OFF ;;
    libjpeg-turbo)
        command -v nasm >/dev/null || die "no nasm, expected Debian's package nasm"
        # without its programs, which would have to be there to be installed
        build_target libjpeg-turbo jpeg-static -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF \
            -DREQUIRE_SIMD=ON
        cp "$folder/build/libjpeg.a" "$root/lib/"
        cp "$folder/build/pkgscripts/libjpeg.pc" "$root/lib/pkgconfig/"
        cp "$folder/build/jconfig.h" "$folder/jerror.h" "$folder/jmorecfg.h" "$folder/jpeglib.h" \
            "$root/include/" ;;
    libspng)
        folder_of libspng
        quietly "$cc" -O2 -fPIC -c "$folder/spng/spng.c" -o "$sources/spng.o"
        rm -f "$root/lib/libspng.a"
        quietly ar rcs "$root/lib/libspng.a" "$sources/spng.o"
        cp "$folder/spng/spng.h" "$root/include/"
        printf 'Name: spng\nDescription: PNG\nVersion: 0.7\nLibs: -L%s/lib -lspng\nCflags: -I%s/include\n' \
            "$root" "$root" >"$root/lib/pkgconfig/spng.pc" ;;
    *) die "unknown library '$name': expected jansson, libzip, libjpeg-turbo or libspng" ;;
    esac
    touch "$root/$name.complete"
done
rm -rf "$sources"
