qdq help chekc
