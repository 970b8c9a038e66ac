/* shapes.c - one graph in, the types of its values out. */
#include "support/shapes.h"

const char *test_type_of(const qdq_type *t)
{
    static char text[4][256];
    static unsigned next;
    char *out = text[next++ % 4];
    int n;

    if (t == NULL)
        return "-";
    if (t->kind != QDQ_TYPE_TENSOR)
        return "no tensor";
    n = snprintf(out, sizeof text[0], "%s", qdq_elem_name(t->elem));
    if (t->rank < 0)
        snprintf(out + n, sizeof text[0] - (size_t)n, "[]");
    for (int i = 0; i < t->rank; i++) {
        const qdq_dim *d = &t->dim[i];
        char number[32];

        snprintf(number, sizeof number, "%lld", (long long)d->value);
        n += snprintf(out + n, sizeof text[0] - (size_t)n, "%s%s%s", i == 0 ? "[" : ",",
                      d->value >= 0      ? number
                      : d->param != NULL ? d->param
                                         : "?",
                      i + 1 == t->rank ? "]" : "");
    }
    return out;
}

const char *test_type(const qdq_model *m, const char *value)
{
    const qdq_value *v = qdq_graph_find(m->graph, value);

    if (v == NULL)
        fail_msg("no value '%s'", value);
    return test_type_of(v->type);
}
