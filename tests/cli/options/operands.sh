try() {
    qdq "$@"
    echo "$* -> $?"
}
try copy
try copy a b
try copy ''
try compare a
try compare a b c
try bench
try passes x
try targets a b
try copy -- --force -o
