# What another machine is, and how it is prepared.
host="exec:$BUILD/qdq-worker --serve --cache-dir $PWD/cache"
qdq engines "sim:$FIXTURES/sim.json" --host "$host" | sed 's/^host .*/host/; s/ on .*/ on a machine/; s/\/.*/FILE/'
qdq engines "sim:$FIXTURES/sim.json" --host "$host" --json | sed 's/"processor": .*/"processor"/; /library/d'
qdq engines "sim:$FIXTURES/sim.json" --host "$host" --self-test | tail -n +4 | sed 's/:.*//'
# what an engine needs in its environment is there when its process starts
printf '#!/bin/sh\nenv >%s/env.txt\nexec %s/qdq-worker "$@"\n' "$PWD" "$BUILD" >shown && chmod +x shown
bare="env -i PATH=$PATH $BUILD/qdq-worker"
qdq engines "sim:$FIXTURES/sim.json" --host "exec:$bare --serve --cache-dir $PWD/cache --program $PWD/shown" >/dev/null
grep TELEMETRY env.txt
mkdir home
strip -o worker "$BUILD/qdq-worker"
qdq engines "sim:$FIXTURES/sim.json" --host "exec:env HOME=$PWD/home" --install --worker worker -q | sed -n '4p'
test -x home/.local/bin/qdq-worker && echo installed
qdq engines --install; echo "exit $?"
qdq engines --host "$host" --worker worker; echo "exit $?"
qdq engines --host "$host" --install --worker worker 2>&1 | sed "s/host '.*': //"
qdq engines --host "exec:env HOME=$PWD/home" --install --worker "$FIXTURES/sim.json" 2>&1 | sed 's/.*sim.json: //'
