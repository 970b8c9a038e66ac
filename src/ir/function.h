/* function.h - which function a node calls, and in which order functions build on each other. */
#ifndef QDQ_FUNCTION_H
#define QDQ_FUNCTION_H

#include "ir/ir.h"

#define QDQ_NO_FUNCTION UINT32_MAX

/* The functions of a model by name. Good until functions are removed; zeroed memory is an empty
 * one. */
typedef struct qdq_functions {
    const qdq_model *m;
    /* of domain, name and overload -> index of the first */
    qdq_map by_hash;
    /* by index: the next one with the same hash */
    uint32_t *next;
} qdq_functions;

/* `next` lies in `scratch`. False: out of memory. Of functions that are there twice, the first is
 * found. */
bool qdq_functions_open(qdq_functions *f, const qdq_model *m, qdq_arena *scratch);
void qdq_functions_close(qdq_functions *f);

/* Index in m->functions, or QDQ_NO_FUNCTION. Functions win over operators that are called the
 * same. */
uint32_t qdq_functions_find(const qdq_functions *f, const char *domain, const char *name,
                            const char *overload);
uint32_t qdq_functions_callee(const qdq_functions *f, const qdq_node *n);

/* Indices of functions, called ones before their callers; those whose calls lead in a circle, and
 * their callers, are not in it: then *n is less than m->functions.n. *order is in `scratch`. False:
 * out of memory. */
bool qdq_functions_order(const qdq_functions *f, qdq_arena *scratch, uint32_t **order, size_t *n);

#endif /* QDQ_FUNCTION_H */
