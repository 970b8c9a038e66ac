qdq targets abacus
