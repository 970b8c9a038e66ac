/* verify_form.c - what a node looks like to an engine, in words. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cpu.h"
#include "quant/check/verify_state.h"

static bool is_dq(const qdq_node *n)
{
    return n != NULL && n->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* The type of the quantized values behind an input of a node; QDQ_UNDEFINED: it reads floats. */
static qdq_elem read_as(const qdq_node *n, uint32_t i)
{
    const qdq_value *v = qdq_node_in(n, i);

    if (v == NULL || !is_dq(v->producer) || (v = qdq_node_in(v->producer, 0)) == NULL)
        return QDQ_UNDEFINED;
    return qdq_value_data_elem(v);
}

void qdq_verify_describe(const qdq_node *n, bool open, char *text, size_t size)
{
    char types[100] = "", readers[200] = "";

    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_node_in(n, i) != NULL) {
            const char *name = qdq_elem_name(read_as(n, i));
            qdq_text_add(types, sizeof types, "%s%s", types[0] != '\0' ? ", " : "",
                         read_as(n, i) != QDQ_UNDEFINED && name != NULL ? name : "float");
        }
    for (uint32_t i = 0; i < n->n_out; i++)
        for (const qdq_use *u = n->out[i] != NULL ? n->out[i]->first : NULL; u != NULL; u = u->next)
            if (!qdq_text_lists(readers, ", ", u->node->type, strlen(u->node->type)))
                qdq_text_add(readers, sizeof readers, "%s%s", readers[0] != '\0' ? ", " : "",
                             u->node->type);
    snprintf(text, size, "reads %s", types);
    if (readers[0] != '\0')
        qdq_text_add(text, size, ", read by %s", readers);
    if (open)
        qdq_text_add(text, size, ", open dims");
}

bool qdq_verify_reads_codes(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (read_as(n, i) != QDQ_UNDEFINED)
            return true;
    return false;
}

bool qdq_verify_saturates(const qdq_engine *e, const qdq_node *n)
{
    return strcmp(qdq_engine_get_info(e)->device, "cpu") == 0 &&
           qdq_cpu_saturates(qdq_cpu_detect()) && read_as(n, 0) == QDQ_UINT8 &&
           read_as(n, 1) == QDQ_INT8;
}
