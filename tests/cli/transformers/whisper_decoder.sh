# A decoder with caches of its own and of the output of an encoder: in every form, and in one file
# with the first run, as optimum merges both.
# needs: ort
. "$FIXTURES/transformer.bash"
make small whisper-decoder "0 1 12" "0 9"
every_form 0.85 0.7
parts
make small whisper-merged "0 1 12" "0 9"
agree merged 0.85
