# a measurement that was cut short does not replace an installed target with more figures
export XDG_CONFIG_HOME=$PWD/config
measure() {
    qdq targets "$FIXTURES/probes.json" --measure --install -e "sim:$FIXTURES/sim.json" "$@" 2>&1 \
        >/dev/null | sed 's,error: .*/qdq/,error: FOLDER/qdq/,; s,/sim-[^:]*/,/VERSION/PROCESSOR/,'
    echo "exit code ${PIPESTATUS[0]}"
    file=$(find config -name ort-cpu.json)
    echo "$(grep -c '"verdict"' "$file") figures"
}
measure
more='{"verdict": "pays", "factor": 0.5, "interval": [0.4, 0.6], "engine": "sim", "version": "1",'
more+=' "processor": "p"}'
sed -i '0,/"measured": \[/s//&'"$more"',\n/' "$file"
measure
measure --force
