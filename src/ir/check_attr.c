/* check_attr.c - the verifier's view of types, tensors and attributes. */
#include "ir/checker.h"

#include <inttypes.h>
#include <string.h>

#define ERROR(...)   qdq_check_report(c, true, __VA_ARGS__)
#define WARNING(...) qdq_check_report(c, false, __VA_ARGS__)

void qdq_check_type(qdq_checker *c, const char *name, const qdq_type *t)
{
    for (int depth = 0; t != NULL; t = t->inner, depth++) {
        if (depth > QDQ_MAX_NESTING) {
            ERROR("value '%s': its type is nested deeper than %d", name, QDQ_MAX_NESTING);
            return;
        }
        if (t->kind != QDQ_TYPE_OTHER && t->elem != QDQ_UNDEFINED && qdq_elem_name(t->elem) == NULL)
            WARNING("value '%s': element type %d is not known", name, (int)t->elem);
        if (t->rank < -1)
            ERROR("value '%s': rank %d, expected -1 or more", name, t->rank);
        for (int i = 0; i < t->rank; i++)
            if (t->dim[i].value < -1) {
                ERROR("value '%s': dimension %d is %" PRId64 ", expected -1 or more", name, i,
                      t->dim[i].value);
                return;
            }
    }
}

void qdq_check_tensor(qdq_checker *c, const char *name, const qdq_tensor *t)
{
    int64_t count = 1;
    size_t size;

    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0 || (t->dim[i] != 0 && count > INT64_MAX / t->dim[i])) {
            ERROR("tensor '%s': dimension %d, %" PRId64 ", is negative or too large", name, i,
                  t->dim[i]);
            return;
        }
        count *= t->dim[i];
    }
    if (count != t->count)
        ERROR("tensor '%s': found %" PRId64 " elements, expected %" PRId64, name, t->count, count);
    if (qdq_elem_name(t->elem) == NULL || t->elem == QDQ_UNDEFINED) {
        WARNING("tensor '%s': element type %d is not known", name, (int)t->elem);
        return;
    }
    if ((t->storage == QDQ_STORE_STRINGS) != (t->elem == QDQ_STRING))
        ERROR("tensor '%s': found elements of %s stored as %s", name, qdq_elem_name(t->elem),
              t->storage == QDQ_STORE_STRINGS ? "strings" : "numbers");
    if (t->storage != QDQ_STORE_BYTES || t->elem == QDQ_STRING)
        return;
    if (!qdq_elem_bytes(t->elem, t->count, &size) || size != t->bytes.size)
        ERROR("tensor '%s': found %zu bytes of data, expected %" PRId64 " elements of %s", name,
              t->bytes.size, t->count, qdq_elem_name(t->elem));
}

/* A declared type that contradicts the data: engines differ in which of them they believe. */
void qdq_check_declared(qdq_checker *c, const qdq_value *v)
{
    const qdq_tensor *t = v->init;

    if (v->type->kind != QDQ_TYPE_TENSOR)
        return;
    if (v->type->elem != QDQ_UNDEFINED && v->type->elem != t->elem) {
        const char *declared = qdq_elem_name(v->type->elem), *found = qdq_elem_name(t->elem);

        WARNING("value '%s': declared as %s, but its data is %s", v->name,
                declared ? declared : "?", found ? found : "?");
    }
    if (v->type->rank < 0)
        return;
    if (v->type->rank != t->rank) {
        WARNING("value '%s': declared with %d dimensions, but its data has %d", v->name,
                v->type->rank, t->rank);
        return;
    }
    for (int i = 0; i < t->rank; i++)
        if (v->type->dim[i].value >= 0 && v->type->dim[i].value != t->dim[i])
            WARNING("value '%s': dimension %d is declared as %" PRId64 ", but is %" PRId64
                    " in its data",
                    v->name, i, v->type->dim[i].value, t->dim[i]);
}

static void check_graph_ref(qdq_checker *c, const qdq_node *n, const qdq_attr *a,
                            const qdq_graph *g)
{
    if (g == NULL || g->dead || g->owner != n)
        ERROR("%s: attribute '%s' holds a graph that is not its own", qdq_check_place(c, n),
              a->name);
    else
        c->n_held[g->index]++;
}

/* NULL, or what item i does not have. */
static const char *check_item(qdq_checker *c, const qdq_node *n, const qdq_attr *a, size_t i)
{
    const void *item = qdq_attr_item(a, i);
    const qdq_tensor *t;

    switch ((int)qdq_attr_type_get_info(a->type)->item) {
    case QDQ_ATTR_UNDEFINED: /* of a kind that newer ONNX versions have: kept in wire form */
        return a->unknown_fields.size == 0 ? "type" : NULL;
    case QDQ_ATTR_TENSOR:
        t = *(const qdq_tensor *const *)item;
        if (t == NULL)
            return "tensor";
        qdq_check_tensor(c, t->name[0] == '\0' || qdq_attr_is_list(a) ? a->name : t->name, t);
        return NULL;
    case QDQ_ATTR_GRAPH:
        check_graph_ref(c, n, a, *(qdq_graph *const *)item);
        return NULL;
    case QDQ_ATTR_SPARSE:
        return *(const qdq_sparse *const *)item == NULL ? "sparse tensor" : NULL;
    case QDQ_ATTR_TYPE:
        return *(const qdq_type *const *)item == NULL ? "type" : NULL;
    }
    return NULL;
}

static void check_attr_value(qdq_checker *c, const qdq_node *n, const qdq_attr *a)
{
    const char *missing = qdq_attr_is_list(a) && a->count > 0 && a->v.ints == NULL ? "list" : NULL;

    for (size_t i = 0; missing == NULL && i < qdq_attr_items(a); i++)
        missing = check_item(c, n, a, i);
    if (missing != NULL)
        ERROR("%s: attribute '%s' has no %s", qdq_check_place(c, n), a->name, missing);
}

/* Few attributes are compared pairwise; many go through a map, so that a million of them are no
 * trap. */
static void check_duplicates(qdq_checker *c, const qdq_node *n)
{
    enum { FEW = 16 };
    qdq_map seen = QDQ_MAP_INIT;

    for (uint32_t i = 0; i < n->n_attr; i++) {
        bool is_new = true;

        if (n->n_attr > FEW) {
            if (qdq_map_put(&seen, n->attr[i]->name, &is_new) == NULL)
                c->nomem = true;
        } else {
            for (uint32_t k = 0; k < i; k++)
                if (strcmp(n->attr[k]->name, n->attr[i]->name) == 0)
                    is_new = false;
        }
        if (!is_new)
            ERROR("%s: found attribute '%s' twice, expected once", qdq_check_place(c, n),
                  n->attr[i]->name);
    }
    qdq_map_free(&seen);
}

void qdq_check_attrs(qdq_checker *c, const qdq_node *n)
{
    if (n->n_attr > 1)
        check_duplicates(c, n);
    for (uint32_t i = 0; i < n->n_attr; i++) {
        const qdq_attr *a = n->attr[i];

        if (a->name[0] == '\0')
            ERROR("%s: attribute %u has no name", qdq_check_place(c, n), (unsigned)i);
        if (a->ref == NULL)
            check_attr_value(c, n, a);
        else if (c->function == NULL)
            ERROR("%s: attribute '%s' refers to '%s' of a function, but stands in none",
                  qdq_check_place(c, n), a->name, a->ref);
    }
}
