/* schemes.h - schemes written down as literals: {.node_inputs = POINTS(NODE(0, 0), NODE(3, 1))}. */
#ifndef QDQ_TEST_SCHEMES_H
#define QDQ_TEST_SCHEMES_H

#include "tune/scheme/scheme.h"

#define POINTS(...)                                                                                \
    {                                                                                              \
        (qdq_point[]){__VA_ARGS__}, sizeof((qdq_point[]){__VA_ARGS__}) / sizeof(qdq_point), 0      \
    }
#define NODE(n, i)                                                                                 \
    {                                                                                              \
        -1, (n), (i)                                                                               \
    }
#define CHILD(r, i)                                                                                \
    {                                                                                              \
        (r), -1, (i)                                                                               \
    }

#endif /* QDQ_TEST_SCHEMES_H */
