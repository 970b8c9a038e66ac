#!/bin/bash
# python.sh SOURCE BUILD - the Python package as users get it: one wheel is built and installed into
# a fresh environment, without a compiler and without network, and the quick part of its tests runs
# there. QDQ_PYTEST_ARGS chooses another part: "" is all.
#
# Of a build under AddressSanitizer the extension module is made of BUILD's library instead, and the
# same tests run with the sanitizer's library in the interpreter. What is lost is looked for at the
# end, while the interpreter still knows all that it holds (python/tests/conftest.py).
set -euo pipefail
cd "$1"
source=$PWD
build=$(realpath "$2")
packages=$source/build/wheel/packages
die() { echo "python: $*" >&2; exit 1; }
is_on() { grep -q "^$1:BOOL=ON" "$build/CMakeCache.txt"; }

if [ ! -e "$packages/complete" ]; then
    echo "python: skipped: no packages (scripts/setup.sh --with-python)"
    exit 77
fi
if is_on QDQ_COVERAGE || { is_on QDQ_SANITIZE &&
    ! grep -q 'COMPILER_ID "GNU"' "$build"/CMakeFiles/*/CMakeCCompiler.cmake; }; then
    echo "python: skipped in a build for other checks"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Many processes import the same large packages: where this is set, each compiles them again.
unset PYTHONDONTWRITEBYTECODE
venv=$work/venv
tools=$build/wheel/venv/bin/python
install() { "${pip[@]}" install --disable-pip-version-check -q --no-index --no-compile \
    --find-links "$packages" "$@"; }
# The pip that builds the wheel installs it, too: one in each environment takes seconds to set up.
make_environment() {
    python3 -m venv --clear --without-pip "$1"
    pip=("$tools" -m pip --python "$1/bin/python")
}

install_wheel() {
    scripts/wheel.sh "$build" || die "the wheel was not built"
    make_environment "$venv"
    install "$build"/dist/*.whl || die "the wheel cannot be installed"
    (cd "$work" && env -u QDQ_ORT_LIBRARY "$venv/bin/python" -c 'import qdq; qdq.optimize' &&
        "$venv/bin/qdq" --version >/dev/null) || die "it does not work with cffi and numpy alone"
    install pytest onnx onnx_ir onnxruntime matplotlib tqdm distributed mypy
    cp "$source/python/tests/typed_user.py" "$work/" # a script of a user
    (cd "$work" && timeout 120 "$venv/bin/python" -m mypy --strict --cache-dir=/dev/null \
        --config-file "$source/pyproject.toml" -p qdq -m typed_user) || die "mypy"
}

# The other checker of types, with its node from the packages; only where all tests run.
check_types() {
    install 'pyright[nodejs]'
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    (cd "$work" && timeout 240 "$venv/bin/pyright" --pythonpath "$venv/bin/python" \
        typed_user.py "$site/qdq" >"$work/log") || { cat "$work/log"; die "pyright"; }
}

# With the libraries of the system, as `pip install` of the archive does it.
build_sdist() {
    "$tools" -m pip wheel --disable-pip-version-check --no-deps \
        --no-build-isolation --wheel-dir "$work/built" "$work"/sdist/qdq-*.tar.gz \
        >"$work/log" 2>&1 || { tail -n 30 "$work/log"; die "the archive of sources does not build"; }
    make_environment "$work/other"
    install "$work"/built/qdq-*.whl || die "what it builds is not installed"
    pip=("$tools" -m pip --python "$venv/bin/python")
    (cd "$work" && "$work/other/bin/python" -c 'import qdq; qdq.optimize' &&
        "$work/other/bin/qdq" --version >/dev/null) || die "what it builds does not work"
}

# What a build of the sources needs is in their archive, which has no git and no tests.
check_sdist() {
    "$tools" -m build --sdist --no-isolation --outdir "$work/sdist" . \
        >"$work/log" 2>&1 || { cat "$work/log"; die "the archive of sources was not made"; }
    tar tzf "$work"/sdist/qdq-*.tar.gz | sed 's#^[^/]*/##' | sort >"$work/have"
    find CMakeLists.txt LICENSE pyproject.toml docs/python.md src include cmake python/*.* \
        python/qdq -type f ! -path '*/__pycache__/*' | sort >"$work/want"
    lacks=$(comm -13 "$work/have" "$work/want")
    [ -z "$lacks" ] || die "the archive of sources lacks" $lacks
    ! grep '^python/tests/\|^tests/' "$work/have" || die "the archive of sources has tests"
    [ "${QDQ_PYTEST_ARGS-quick}" != "" ] || build_sdist
}

install_sanitized() {
    venv=$build/python/venv
    python3 -m venv --clear "$venv"
    pip=("$venv/bin/python" -m pip)
    install cffi numpy pytest onnx onnx_ir
    cmake -G Ninja -S . -B "$build/python" -Wno-dev --log-level=WARNING -DCMAKE_C_COMPILER=gcc \
        -DQDQ_SANITIZE=ON -DQDQ_PYTHON=ON -DQDQ_TESTS=OFF "-DQDQ_LIBRARY=$build/libqdq.a" \
        "-DPython_EXECUTABLE=$venv/bin/python"
    cmake --build "$build/python" -t qdq_python >"$work/log" || { cat "$work/log"; die "no module"; }
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp -r python/qdq "$site/"
    cp "$build/python/python/"{_qdq.abi3.so,_records.py} "$site/qdq/"
    mkdir -p "$site/qdq/bin"
    cp "$build/qdq" "$build/qdq-worker" "$site/qdq/bin/"
    preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    # The blocks of Python's own allocator cannot be told apart; LeakSanitizer is called by hand.
    export PYTHONMALLOC=malloc TBB_ENABLE_SANITIZERS=1 \
        ASAN_OPTIONS=leak_check_at_exit=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1 \
        LSAN_OPTIONS="suppressions=$source/tests/leaks.supp:print_suppressions=0"
}

preload=
if is_on QDQ_SANITIZE; then
    install_sanitized
else
    install_wheel
    check_sdist
    [ "${QDQ_PYTEST_ARGS-quick}" != "" ] || check_types
fi
ort=$(ls "$build"/ort/libonnxruntime.so.1 2>/dev/null || true)
export QDQ_ORT_LIBRARY=${QDQ_ORT_LIBRARY:-$ort}
(cd "$work" && env ${preload:+"LD_PRELOAD=$preload"} "$venv/bin/python" -m pytest -q \
    -p no:cacheprovider -rs -c "$source/pyproject.toml" "$source/python/tests" \
    ${QDQ_PYTEST_ARGS--m "not slow"}) | tee "$work/log" || true
line=$(grep -E '^[0-9]+ (passed|failed|error)' "$work/log" | tail -n 1)
count() { grep -oE "[0-9]+ $1" <<<"$line" | cut -d ' ' -f 1 || true; }
passed=$(count passed) failed=$(($(count failed) + $(count error) + 0)) skipped=$(count skipped)
[ "${passed:-0}" -gt 0 ] || failed=$((failed + 1))
! grep -q '^python: memory was lost' "$work/log" || failed=$((failed + 1))
echo "${passed:-0} passed, $failed failed${skipped:+, $skipped skipped}"
[ "${QDQ_TEST_REQUIRE:-}" != 1 ] || [ -n "$preload" ] || [ "${skipped:-0}" = 0 ] ||
    die "$skipped tests were skipped, expected none: is a package missing?"
[ $failed = 0 ]
