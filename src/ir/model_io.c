/* model_io.c - what a model offers its callers: opset, inputs, outputs. */
#include "ir/ir.h"

int qdq_model_opset(const qdq_model *m)
{
    int64_t version = qdq_model_opset_of(m, "");

    return version < 0 || version > INT32_MAX ? 0 : (int)version;
}

/* Below IR 4 every initializer had to be listed as an input, too; above it may be overridden.
 * Neither has to be given. */
static bool is_real_input(const qdq_value *v)
{
    return v->init == NULL && v->sparse == NULL;
}

static void describe(const qdq_value *v, qdq_io *out)
{
    const qdq_type *t = v->type;

    *out = (qdq_io){.name = v->name, .elem = QDQ_UNDEFINED, .rank = -1};
    if (t == NULL || t->kind != QDQ_TYPE_TENSOR)
        return;
    out->elem = t->elem;
    if (t->rank > QDQ_MAX_RANK)
        return;
    out->rank = t->rank;
    for (int i = 0; i < t->rank; i++) {
        out->dim[i] = t->dim[i].value;
        out->param[i] = t->dim[i].value >= 0 ? NULL : t->dim[i].param;
    }
}

size_t qdq_model_input_count(const qdq_model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->graph->inputs.n; i++)
        n += is_real_input(m->graph->inputs.at[i]);
    return n;
}

size_t qdq_model_output_count(const qdq_model *m)
{
    return m->graph->outputs.n;
}

/* Callers ask for one input after the other: the search goes on where the last one ended, so that
 * all of them together take linear time. Readers in other threads may move the cursor; each of its
 * values is right. */
bool qdq_model_input(const qdq_model *m, size_t i, qdq_io *out)
{
    qdq_graph *g = m->graph;
    uint64_t cursor = atomic_load_explicit(&g->input_cursor, memory_order_relaxed);
    /* of a real input, or both 0 */
    uint32_t number = (uint32_t)(cursor >> 32), place = (uint32_t)cursor;

    if (i < number)
        number = place = 0;
    for (; place < g->inputs.n; place++)
        if (is_real_input(g->inputs.at[place]) && number++ == i) {
            describe(g->inputs.at[place], out);
            atomic_store_explicit(&g->input_cursor, (uint64_t)i << 32 | place,
                                  memory_order_relaxed);
            return true;
        }
    return false;
}

bool qdq_model_output(const qdq_model *m, size_t i, qdq_io *out)
{
    if (i >= m->graph->outputs.n)
        return false;
    describe(m->graph->outputs.at[i], out);
    return true;
}

bool qdq_model_has_input(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    return v != NULL && v->is_input && is_real_input(v);
}

bool qdq_io_is_open(const qdq_io *io)
{
    for (int i = 0; i < io->rank; i++)
        if (io->dim[i] < 0)
            return true;
    return io->rank < 0;
}

bool qdq_model_is_open(const qdq_model *m)
{
    qdq_io io;

    for (size_t i = 0; qdq_model_input(m, i, &io); i++)
        if (qdq_io_is_open(&io))
            return true;
    return false;
}
