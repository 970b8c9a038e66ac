# GPT: each form of a target under a goal of agreement, which holds on sequences that nothing was
# fitted to; statistics in parts.
# needs: ort
. "$FIXTURES/transformer.bash"
make small gpt "0 1 12" "0 9"
every_form 0.85 0.7
parts
