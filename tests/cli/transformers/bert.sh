# BERT: each form of a target under a goal of agreement, which holds on sequences that nothing was
# fitted to; statistics in parts. Of 16 rows the pooler may lose a few.
# needs: ort
. "$FIXTURES/transformer.bash"
make small bert
every_form 0.7 0.6
parts
