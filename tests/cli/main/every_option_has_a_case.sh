# An option that no case uses is an option that nobody tries. Those of every command are tried in
# options/.
for command in $(qdq help | sed -n '/^commands:/,/^$/p' | awk 'NF > 1 {print $1}'); do
    qdq help "$command" | sed '/^options:/,/^$/d' |
        sed -n 's/^ *\(-\(.\), \)\{0,1\}--\(\[no-\]\)\{0,1\}\([a-z0-9-]*\).*/\4 \2/p' | sort -u |
        while read -r name letter; do
            cat "$FIXTURES/../$command"/*.sh |
                grep -q -e "--\(no-\)\{0,1\}$name\b" -e " -[a-z]*${letter:-none}\b" ||
                echo "$command --$name"
        done
done
