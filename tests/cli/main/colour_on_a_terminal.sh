# needs: terminal
# NO_COLOR is set for all cases; without it, a terminal gets colour.
unset NO_COLOR
TERM=xterm script -qec 'qdq nothing' /dev/null </dev/null | tr -d '\r' | tr '\033' '^'
NO_COLOR=1 TERM=xterm script -qec 'qdq nothing' /dev/null </dev/null | tr -d '\r' | tr '\033' '^'
TERM=dumb script -qec 'qdq nothing' /dev/null </dev/null | tr -d '\r' | tr '\033' '^'
