#!/bin/bash
# options.sh SOURCE BUILD - every option of the tool is used by a test of the command line: a new one without is
# noticed here. What an option shared by several commands does is shown once.
set -euo pipefail

status=0
# "-o, --output FILE", "    --[no-]sqnr": name, and the letter where there is one
options() {
    for command in $("$1/qdq" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$1/qdq" help "$command" | sed -n 's/^  *\(-\([a-zA-Z]\), \)\{0,1\}--\(\[no-\]\)\{0,1\}\([a-z-]*\).*/\4 \2/p'
    done | sort -u
}
while read -r name letter; do
    used="--(no-)?$name([^a-z-]|\$)"
    [ -z "$letter" ] || used="$used|(^|[ ])-[a-zA-Z]*$letter"
    if ! grep -rqE --include='*.sh' -e "$used" "$1/tests/cli"; then
        echo "options: --$name: no test in tests/cli uses it" >&2
        status=1
    fi
done < <(options "$2")
exit $status
