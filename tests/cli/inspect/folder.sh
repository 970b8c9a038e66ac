mkdir folder
qdq inspect folder
