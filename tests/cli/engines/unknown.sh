qdq engines abacus
