cat >warn.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>
g (float[1,4] x) => (float[1,4] y) {
  y = my.domain.Strange(x)
}
END
qdq check warn.onnxtxt
