# --help=all and help COMMAND are the same, name every option once and end with an example.
commands=$(qdq help | sed -n '/^commands:/,/^$/p' | awk 'NF > 1 {print $1}')
for command in $commands; do
    qdq "$command" --help=all >flag && qdq help "$command" >word && cmp flag word
    grep -q '^usage: qdq '"$command" flag || echo "$command: no usage"
    grep -q -- '--json ' flag || echo "$command: no --json"
    tail -n 1 flag | grep -q '^  qdq '"$command" || echo "$command: no example at the end"
    grep -o -- '^ *\(-., \)\?--[a-z\[\]-]*' flag | sort | uniq -d
    awk 'length > 120 {print FILENAME ": " $0}' flag
done
echo "$commands" | wc -w
