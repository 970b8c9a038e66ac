#!/bin/bash
# run.sh FOLDER... - the cases of tests/cli/FOLDER: each <case>.sh runs in a private folder with
# `qdq` in its PATH; what it prints and its exit code are compared with the files beside it:
#   <case>.stdout.exact, .stderr.exact   byte for byte
#   <case>.stdout.glob, .stderr.glob     line by line as shell patterns; "..." stands for any lines
#   <case>.exit                          the exit code, 0 if the file is missing
# A stream without a file must be empty. UPDATE=1 rewrites .exact and .exit files, and makes them
# for new cases; glob files are changed by hand.
#
# quantize measures what it wrote, and no two times are alike: `qdq` adds --no-bench to it, except
# in cases with a line "# measures". Warnings that the machine is noisy are of the machine, not of
# the case: they are taken out of stderr. Without VNNI other weights are made, for kernels that
# saturate there, and less pays: in cases with a line "# as with VNNI", quantize, autotune and
# inspect --why work for processors that have it.
#
# A line "# needs: ort full" in a case skips it, loudly, where one of them is missing; with
# QDQ_TEST_REQUIRE=1 that is a failure. Set by the caller: QDQ (the tool). For the cases: MODELS
# (tests/models), FIXTURES, BUILD (the folder of the tool).
set -u
export LC_ALL=C NO_COLOR=1
export OMP_WAIT_POLICY=passive # what waits by spinning takes the processor from other tests
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
QDQ=$(realpath "${QDQ:-$here/../../build/qdq}")
BUILD=$(dirname "$QDQ")
MODELS=$(realpath "$here/../models")
export MODELS FIXTURES=$here/fixtures BUILD MEASURES WITH_VNNI
work=$(mktemp -d "${TMPDIR:-/tmp}/qdq-cli-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset TMPDIR # what a user has not set
export XDG_CONFIG_HOME=$work/config # no targets of this machine
# Most shells for sh start in less time than bash, and these start thousands of times.
mkdir "$work/bin" "$work/plain"
cat >"$work/bin/qdq" <<END
#!/bin/sh
more=
case "\${WITH_VNNI:-} \$* " in
*" --plan "*) ;;
"1 quantize "* | "1 autotune "* | "1 inspect "*" --why "*) more='--cpu vnni' ;;
esac
case "\${MEASURES:-} \${1:-}" in
"1 "*) ;;
*" quantize") more="--no-bench \$more" ;;
esac
if [ -n "\$more" ]; then
    command=\$1
    shift
    set -- "\$command" \$more "\$@"
fi
exec '$QDQ' "\$@"
END
chmod +x "$work/bin/qdq"
ln -s "$QDQ" "$work/plain/qdq"
path=$PATH
declare -A has # what `have` found, by name
passed=0 failed=0 skipped=0

complain() {
    echo "FAIL $folder/$name: $*"
    failed=$((failed + 1))
}

have() {
    if [ -z "${has[$1]:-}" ]; then
        case $1 in
        ort | openvino) "$QDQ" engines "$1" >/dev/null 2>&1 ;;
        full) [ -c /dev/full ] ;;
        terminal) command -v script >/dev/null ;;
        *) false ;;
        esac
        has[$1]=$?
    fi
    return "${has[$1]}"
}

# globs PATTERNS TEXT: "..." takes any number of lines
globs() {
    local -a pattern text
    mapfile -t pattern <"$1"
    mapfile -t text <"$2"
    local p=0 t=0 back_p=-1 back_t=0
    while ((t < ${#text[@]})); do
        # shellcheck disable=SC2053 # the right side is a pattern
        if ((p < ${#pattern[@]})) && [[ ${pattern[p]} == ... ]]; then
            back_p=$p back_t=$t
            p=$((p + 1))
        elif ((p < ${#pattern[@]})) && [[ ${text[t]} == ${pattern[p]} ]]; then
            p=$((p + 1)) t=$((t + 1))
        elif ((back_p >= 0)); then
            p=$((back_p + 1)) back_t=$((back_t + 1)) t=$back_t
        else
            return 1
        fi
    done
    while ((p < ${#pattern[@]})) && [[ ${pattern[p]} == ... ]]; do
        p=$((p + 1))
    done
    ((p == ${#pattern[@]}))
}

# compare_stream NAME ACTUAL
compare_stream() {
    local base=$here/$folder/$name.$1
    if [ -f "$base.glob" ]; then
        globs "$base.glob" "$2" && return 0
        complain "$1 does not match $base.glob; it is:"
        cat "$2"
        return 1
    fi
    if [ "${UPDATE:-}" = 1 ]; then
        if [ -s "$2" ]; then cp "$2" "$base.exact"; else rm -f "$base.exact"; fi
        return 0
    fi
    if [ -f "$base.exact" ]; then
        diff -u "$base.exact" "$2" && return 0
        complain "$1 differs"
        return 1
    fi
    [ -s "$2" ] || return 0
    complain "$1 is not empty:"
    cat "$2"
    return 1
}

run_case() {
    local script=$here/$folder/$name.sh want=0 code need needs='' line good=1
    local -a lines
    mapfile -t lines <"$script"
    MEASURES=0 WITH_VNNI=0 PATH=$work/plain:$path
    for line in "${lines[@]}"; do
        case $line in
        '# needs: '*) needs+=" ${line#'# needs: '}" ;;
        '# as with VNNI') WITH_VNNI=1 ;;
        '# measures') MEASURES=1 ;;
        esac
        # What a case reads from FIXTURES may quantize, too.
        case $line in *quantize* | '. '* | '# as with VNNI') PATH=$work/bin:$path ;; esac
    done
    for need in $needs; do
        if ! have "$need"; then
            if [ "${QDQ_TEST_REQUIRE:-}" = 1 ]; then
                complain "needs $need"
            else
                echo "SKIP $folder/$name: needs $need"
                skipped=$((skipped + 1))
            fi
            return
        fi
    done
    rm -rf "$work/run"
    mkdir "$work/run"
    (cd "$work/run" && timeout 300 bash "$script" >"$work/stdout" 2>"$work/stderr" </dev/null)
    code=$?
    [ ! -s "$work/stderr" ] ||
        sed -i -E '/^qdq: warning: .*(this machine is noisy|latency drifted)/d' "$work/stderr"
    [ -f "$here/$folder/$name.exit" ] && want=$(<"$here/$folder/$name.exit")
    if [ "${UPDATE:-}" = 1 ]; then
        if [ $code = 0 ]; then rm -f "$here/$folder/$name.exit"; else echo $code \
            >"$here/$folder/$name.exit"; fi
    elif [ "$code" != "$want" ]; then
        complain "exit code $code, expected $want"
        cat "$work/stderr"
        good=0
    fi
    compare_stream stdout "$work/stdout" || good=0
    compare_stream stderr "$work/stderr" || good=0
    passed=$((passed + good))
}

[ $# -gt 0 ] || { echo "usage: run.sh FOLDER..." >&2; exit 2; }
for folder in "$@"; do
    [ -d "$here/$folder" ] || { echo "run.sh: no folder $here/$folder" >&2; exit 2; }
    for script in "$here/$folder"/*.sh; do
        name=${script##*/}
        name=${name%.sh}
        run_case
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
