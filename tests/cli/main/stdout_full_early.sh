# needs: full
# more than the buffer of a stream, so that a write fails before the end: the reason stays known
qdq help quantize >/dev/full
