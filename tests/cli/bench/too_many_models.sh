for i in $(seq 65); do set -- "$@" m; done
qdq bench "$@"
