#!/bin/bash
# layers.sh SOURCE BUILD - the order of the folders of src/ is kept: a file includes headers of its
# own folder, of folders further left, and of include/qdq. The same holds for the rooms of a folder
# whose rooms have an order, and for calls through public headers, so there is no circle among them.
# Also: every file name is used once, so that a name finds its file, and a file's own header comes
# first, which proves that it stands alone.
set -euo pipefail
cd "$1"

order=(base ir onnx target opt engine report quant tune worker cli)
declare -A rooms # "." are the files at the top of the folder
rooms[quant]="data plan calib weights place insert half_precision control_flow . import compare goal check report ptq"
rooms[tune]="measure store worker_client probe region space search mincut validate scheme group extract isolate cache
    state candidate accuracy trial baseline problem greedy strategy refine final outcome ."
bad=0
complain() { echo "layers: $*"; bad=1; }

declare -A rank
for i in "${!order[@]}"; do rank[${order[i]}]=$i; done
declare -A room_rank
for folder in "${!rooms[@]}"; do
    i=0
    for room in ${rooms[$folder]}; do room_rank[$folder/$room]=$((i++)); done
done

# room FOLDER/ROOM/FILE or FOLDER/FILE - FOLDER/ROOM, or FOLDER/. for a file at the top
room() { local p=${1%/*}; [[ $p == */* ]] && echo "$p" || echo "$p/."; }

# src/FOLDER/file.c:12:#include "FOLDER/header.h"
while IFS=: read -r file line text; do
    from=${file#src/}; from=${from%%/*}
    header=${text#*\"}; header=${header%%\"*}
    folder=${header%%/*}
    if [[ -z ${rank[$from]+x} ]]; then
        complain "$file: folder '$from' is not in the order (${order[*]})"
    elif [[ $header == qdq/* ]]; then
        [[ -f include/$header ]] || complain "$file:$line: \"$header\" is not in include/"
    elif [[ $header == *.inc && $header != */* ]]; then
        : # made by the build
    elif [[ $header != */* ]]; then # beside the file
        [[ -f ${file%/*}/$header ]] || complain \
            "$file:$line: \"$header\" is not beside it, expected FOLDER/NAME"
    elif [[ -z ${rank[$folder]+x} ]]; then
        complain "$file:$line: \"$header\" is in no known folder"
    elif ((rank[$folder] > rank[$from])); then
        complain "$file:$line: $from/ must not include \"$header\": $folder/ stands to its right"
    elif [[ $from == cli && $folder != cli && $folder != base && $folder != report ]]; then
        complain "$file:$line: cli/ uses the public interface, base/ and report/, not \"$header\""
    elif [[ ! -f src/$header ]]; then
        complain "$file:$line: \"$header\" does not exist"
    elif [[ $folder == "$from" && -n ${rooms[$from]:-} ]]; then
        own=$(room "${file#src/}") other=$(room "$header")
        for r in "$own" "$other"; do
            [[ -n ${room_rank[$r]+x} ]] ||
                complain "$file: room '$r' is not in the order (${rooms[$from]})"
        done
        ((${room_rank[$other]:-0} <= ${room_rank[$own]:-0})) ||
            complain "$file:$line: $own must not include \"$header\": $other stands to its right"
    fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src || true)

nm "$2/libqdq.a" | grep -c ' T qdq_' >/dev/null ||
    complain "$2/libqdq.a: no function qdq_*; expected the library's objects"

# A call leads the same way where a public header hides the room: what the library's objects define
# and need. Worker and cli, to the right of it, call what they want.
while read -r file name to; do
    complain "$file: must not call $name() of $to, which stands to its right"
done < <({
    while read -r file; do
        r=${file#src/} r=${r%/*} # no call of room(): that takes a second
        [[ $r == */* ]] || r=$r/.
        echo "file $file $((1000 * ${rank[${r%%/*}]:-0} + ${room_rank[$r]:-0}))"
    done < <(find src -name '*.c')
    nm -A "$2/libqdq.a" | sed -nE 's/^[^:]*:([a-z0-9_]+\.c)\.o:.* ([A-Z]) (qdq_[a-z0-9_]+)$/\2 \1 \3/p'
} | awk '$1 == "file" { name = $2; sub(/.*\//, "", name); path[name] = $2; rank[name] = $3; next }
    $1 == "U" { needs[$2 " " $3]; next }
    { home[$3] = $2 }
    END { for (n in needs) { split(n, x, " "); to = home[x[2]]
        if (to in rank && rank[to] > rank[x[1]]) print path[x[1]], x[2], path[to] } }' | sort)

# The public headers stand alone: they are installed together, and nothing else is.
while IFS=: read -r file line text; do
    header=${text#*\"}; header=${header%%\"*}
    [[ -f include/qdq/$header ]] || complain "$file:$line: a public header includes \"$header\""
done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' include/qdq/*.h || true)

# The Python package stands on the public headers alone.
while IFS=: read -r file line text; do
    complain "$file:$line: python/ uses include/qdq/ alone: $text"
done < <(grep -rnE '(#include|include_directories|target_sources).*(src/|"(base|ir|onnx|target|opt|engine|report|quant|tune|worker|cli)/)' \
    python --include='*.py' --include='*.c' --include=CMakeLists.txt || true)

while read -r name; do
    complain \
        "several files are called $name: $(find src include -name "$name" | sort | tr '\n' ' ')"
done < <(find src include -type f -printf '%f\n' | grep -v '^CMakeLists.txt$' | sort | uniq -d)

while read -r file; do
    complain "$file: file names are snake_case"
done < <(find src include -type f -printf '%P\n' | grep -v 'CMakeLists.txt$' |
    grep -vE '^([a-z0-9_]+/)*([a-z0-9_]+\.(c|cpp|h|def|inc|css|js)|[a-z0-9_-]+\.json)$' || true)

# FOLDER/file.c with FOLDER/file.h begins with it, or with the room's inner header that includes it.
while read -r file; do
    own=${file#src/}; own=${own%.c}.h
    [[ -f src/$own ]] || continue
    first=$(grep -m1 -E '^[[:space:]]*#[[:space:]]*include' "$file" || true)
    [[ $first == "#include \"$own\""* ]] && continue
    inner=${first#*\"}; inner=${inner%%\"*}
    grep -qs "^#include \"$own\"" "src/$inner" ||
        complain "$file: its first include is not \"$own\" but: $first"
done < <(find src -name '*.c' | sort)

# docs/architecture.md draws the same orders: the only indented lines there with arrows between names.
mapfile -t drawn < <(awk '/^    ( *-> )?[a-z_.]+( -> [a-z_.]+)*$/ && /->/ { text = text " " $0; next }
    text != "" { gsub(/->/, "", text); $0 = text; $1 = $1; print; text = "" }' docs/architecture.md)
for name in quant tune folders; do
    [[ $name == folders ]] && ranks=${order[*]} || ranks=$(tr -s ' \n' ' ' <<<"${rooms[$name]}")
    ranks=${ranks% }
    printf '%s\n' "${drawn[@]}" | grep -qxF -- "$ranks" ||
        complain "docs/architecture.md: no drawing of $name is \"${ranks// / -> }\""
done

exit $bad
