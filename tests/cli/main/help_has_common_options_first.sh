# --help fits on a screen: purpose, example, common options. --help=all and 'qdq help' list the rest.
for command in quantize autotune compare bench optimize inspect check extract targets engines; do
    [ "$(qdq $command --help | wc -l)" -lt 45 ] && [ "$(qdq $command -h | grep -c '^example:')" = 1 ] || echo "$command is long"
    cmp <(qdq $command --help=all) <(qdq help $command)
done
qdq bench -h
qdq bench --help=some
