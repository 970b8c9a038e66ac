# more than the buffer of a stream, so that a write fails before the end
(sleep 0.3; qdq help quantize) | true
exit "${PIPESTATUS[0]}"
