for form in md man passes bash zsh fish; do
    qdq __docs $form >text || echo "$form: $?"
    [ -s text ] || echo "$form: empty"
    [ $form != bash ] || bash -n text
done
qdq __docs html
