try() {
    qdq "$@"
    echo "$* -> $?"
}
try copy m --ouput x
try copy m --ext auto
try copy m --nonsense
try copy m --no-nonsense
try copy m -z
try copy m -fz
try copy m --no-opset
try copy m --no-output=x
try copy m --force=yes
try copy m --no-force=1
try copy m --=x
