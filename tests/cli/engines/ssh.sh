# A host by ssh, whose program is one of ours here: it is called as ssh wants it, and what it is to
# run there goes through a shell, as that of a login.
mkdir bin home
cat >bin/ssh <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do
    echo "[$1]"
    shift
done >>"$LOG"
echo "run: $1" >>"$LOG"
HOME=$FAR exec sh -c "$1"
END
chmod +x bin/ssh
export LOG=$PWD/log FAR=$PWD/home XDG_CACHE_HOME=$PWD/cache PATH=$PWD/bin:$PATH
sim=sim:$FIXTURES/sim.json
shown() { sed -n '1p; 4p'; }
echo "nothing is there"
qdq engines "$sim" --host ssh://pi@board 2>&1 | sed 's/; .*//'
sort -u log; rm log
echo "installed"
strip -o worker "$BUILD/qdq-worker"
qdq engines "$sim" --host ssh://pi@board:22022 --install --worker worker | shown
rm -f log
qdq engines "$sim" --host "ssh://pi@board:22022" --host-timeout 2m | shown
sort -u log
echo "a path"
rm -f log
qdq engines "$sim" --host "ssh://[::1]$FAR/.local/bin/qdq-worker" | shown | sed "s|$FAR|FAR|"
sort -u log | sed "s|$FAR|FAR|"
echo "a failure"
printf '#!/bin/sh\necho "ssh: Permission denied (publickey)." >&2\nexit 255\n' >bin/ssh
qdq engines "$sim" --host ssh://pi@board
echo "exit $?"
