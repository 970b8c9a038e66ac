# As many as the text has lines.
[ "$(qdq passes --json | grep -c '"name"')" = "$(qdq passes | wc -l)" ]
