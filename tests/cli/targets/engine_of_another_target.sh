# needs: ort
# an engine that does not run the target
qdq targets openvino --measure -o my.json -e ort
