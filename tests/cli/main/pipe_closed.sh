(sleep 0.3; qdq help) | true
exit "${PIPESTATUS[0]}"
