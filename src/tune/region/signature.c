/* signature.c - texts of nodes in Model-Optimizer's form. Tensors and graphs inside attributes, for
 * which Model-Optimizer has no form that two models share, are named by their contents. */
#include "tune/region/signature.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { BYTES_SHOWN = 8 };

bool qdq_is_symmetric(const qdq_node *n)
{
    return n->n_in >= 2 &&
           QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_MUL, QDQ_OP_AND, QDQ_OP_OR, QDQ_OP_XOR,
                        QDQ_OP_EQUAL, QDQ_OP_MAX, QDQ_OP_MIN, QDQ_OP_SUM, QDQ_OP_MEAN,
                        QDQ_OP_BITWISEAND, QDQ_OP_BITWISEOR, QDQ_OP_BITWISEXOR);
}

/* --- values of attributes --------------------------------------------------------------------- */

void qdq_signature_bytes(qdq_buf *b, const void *data, size_t size)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size && i < BYTES_SHOWN; i++)
        qdq_buf_printf(b, "%02x", p[i]);
    if (size > BYTES_SHOWN)
        qdq_buf_puts(b, "...");
}

/* Text that is text stays; anything else is bytes. */
static void put_string(qdq_buf *b, qdq_span s)
{
    const unsigned char *p = s.data;

    for (size_t i = 0; i < s.size; i++)
        if (p[i] < 0x20 || p[i] >= 0x7f) {
            qdq_signature_bytes(b, s.data, s.size);
            return;
        }
    qdq_buf_append(b, s.data, s.size);
}

static void put_tensor(qdq_buf *b, const qdq_tensor *t)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span data = {0};

    qdq_buf_printf(b, "tensor(%s", qdq_elem_name(t->elem));
    for (int i = 0; i < t->rank; i++)
        qdq_buf_printf(b, "%c%lld", i == 0 ? ' ' : 'x', (long long)t->dim[i]);
    qdq_status st =
        t->storage != QDQ_STORE_STRINGS ? qdq_tensor_data(t, &scratch, &data, NULL) : QDQ_OK;
    if (st == QDQ_E_NOMEM)
        b->failed = true;
    else if (st == QDQ_OK)
        qdq_buf_printf(b, " %016llx", (unsigned long long)XXH3_64bits(data.data, data.size));
    qdq_buf_putc(b, ')');
    qdq_arena_free(&scratch);
}

static void put_graph(qdq_buf *b, const qdq_graph *g)
{
    XXH64_hash_t h = 0;

    QDQ_FOR_NODES (n, g)
        h = XXH3_64bits_withSeed(n->type, strlen(n->type), h);
    qdq_buf_printf(b, "graph(%u %016llx)", (unsigned)g->n_node, (unsigned long long)h);
}

static void put_lists(qdq_buf *b, const qdq_attr *a)
{
    for (size_t i = 0; i < a->count; i++) {
        bool text = a->type == QDQ_ATTR_STRINGS || a->type == QDQ_ATTR_TENSORS ||
                    a->type == QDQ_ATTR_GRAPHS;
        if (i > 0)
            qdq_buf_putc(b, text ? ',' : 'x');
        if (a->type == QDQ_ATTR_INTS)
            qdq_buf_printf(b, "%lld", (long long)a->v.ints[i]);
        else if (a->type == QDQ_ATTR_FLOATS)
            qdq_buf_printf(b, "%.4g", (double)a->v.floats[i]);
        else if (a->type == QDQ_ATTR_STRINGS)
            put_string(b, a->v.strings[i]);
        else if (a->type == QDQ_ATTR_TENSORS)
            put_tensor(b, a->v.tensors[i]);
        else if (a->type == QDQ_ATTR_GRAPHS)
            put_graph(b, a->v.graphs[i]);
    }
}

void qdq_signature_attr(qdq_buf *b, const qdq_attr *a)
{
    switch (a->type) {
    case QDQ_ATTR_INT:
        qdq_buf_printf(b, "%lld", (long long)a->v.i);
        return;
    case QDQ_ATTR_FLOAT:
        qdq_buf_printf(b, "%.4g", (double)a->v.f);
        return;
    case QDQ_ATTR_STRING:
        put_string(b, a->v.s);
        return;
    case QDQ_ATTR_TENSOR:
        put_tensor(b, a->v.t);
        return;
    case QDQ_ATTR_GRAPH:
        put_graph(b, a->v.g);
        return;
    case QDQ_ATTR_INTS:
    case QDQ_ATTR_FLOATS:
    case QDQ_ATTR_STRINGS:
    case QDQ_ATTR_TENSORS:
    case QDQ_ATTR_GRAPHS:
        put_lists(b, a);
        return;
    case QDQ_ATTR_UNDEFINED:
    case QDQ_ATTR_SPARSE:
    case QDQ_ATTR_SPARSES:
    case QDQ_ATTR_TYPE:
    case QDQ_ATTR_TYPES:
        qdq_buf_putc(b, '?');
        return;
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const qdq_attr *const *)a)->name, (*(const qdq_attr *const *)b)->name);
}

const char *qdq_signature_head(const qdq_node *n, qdq_arena *arena)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const qdq_attr **attr = qdq_arena_array(arena, (size_t)n->n_attr + 1, sizeof(const qdq_attr *));

    if (attr == NULL)
        return NULL;
    for (uint32_t i = 0; i < n->n_attr; i++)
        attr[i] = n->attr[i];
    qsort(attr, n->n_attr, sizeof(const qdq_attr *), by_name);
    qdq_buf_puts(&b, n->type);
    for (uint32_t i = 0; i < n->n_attr; i++) {
        qdq_buf_printf(&b, "%c%s=", i == 0 ? '[' : ',', attr[i]->name);
        qdq_signature_attr(&b, attr[i]);
    }
    if (n->n_attr > 0)
        qdq_buf_putc(&b, ']');
    const char *text = b.failed ? NULL : qdq_arena_strndup(arena, b.data, b.size);
    qdq_buf_free(&b);
    return text;
}

typedef struct origin {
    const char *place, *what;
} origin;

static int by_origin(const void *a, const void *b)
{
    const origin *x = a, *y = b;
    int order = strcmp(x->place, y->place);

    return order != 0 ? order : strcmp(x->what, y->what);
}

static origin origin_of(const qdq_regions *all, const qdq_region *r, const qdq_value *v)
{
    const qdq_node *p = v != NULL && qdq_value_const(v) == NULL ? v->producer : NULL;

    if (p == NULL)
        return (origin){"external", "input-or-constant"};
    return (origin){all->of[p->id] == r ? "internal" : "external", p->type};
}

bool qdq_signature_sources(qdq_buf *b, const qdq_regions *all, const qdq_region *r,
                           const qdq_node *n, qdq_arena *scratch)
{
    if (!qdq_is_symmetric(n))
        return true;
    origin *o = qdq_arena_array(scratch, n->n_in, sizeof *o);
    if (o == NULL)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        o[i] = origin_of(all, r, qdq_node_in(n, i));
    qsort(o, n->n_in, sizeof *o, by_origin);
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_buf_printf(b, "%c%s:%s", i == 0 ? '<' : ',', o[i].place, o[i].what);
    qdq_buf_putc(b, '>');
    return true;
}
