/* picture_overlay.c - the picture's data as a file of node data for Model Explorer (google-ai-edge/model-explorer, API
 * guide, "Create custom node data"). Colours are those of picture_style.css in its light scheme. */
#include <math.h>

#include "report/html.h"
#include "report/picture.h"

static const char *colour_of(qdq_elem e)
{
    switch (e) {
    case QDQ_INT8:
        return "#2f6fde";
    case QDQ_UINT8:
        return "#7a4fd0";
    case QDQ_INT4:
    case QDQ_UINT4:
    case QDQ_INT2:
    case QDQ_UINT2:
    case QDQ_FLOAT4E2M1:
        return "#c2408f";
    case QDQ_INT16:
    case QDQ_UINT16:
        return "#0f8aa8";
    case QDQ_FLOAT8E4M3FN:
    case QDQ_FLOAT8E4M3FNUZ:
    case QDQ_FLOAT8E5M2:
    case QDQ_FLOAT8E5M2FNUZ:
    case QDQ_FLOAT8E8M0:
        return "#c9681a";
    case QDQ_FLOAT16:
    case QDQ_BFLOAT16:
        return "#2b8f5f";
    case QDQ_UNDEFINED:
    case QDQ_FLOAT:
    case QDQ_DOUBLE:
    case QDQ_INT32:
    case QDQ_INT64:
    case QDQ_UINT32:
    case QDQ_UINT64:
    case QDQ_BOOL:
    case QDQ_STRING:
    case QDQ_COMPLEX64:
    case QDQ_COMPLEX128:
    case QDQ_ELEM_COUNT:
        return NULL;
    }
    return NULL;
}

void qdq_picture_overlay(qdq_buf *b, const qdq_picture *p)
{
    const char *comma = "";

    qdq_buf_putc(b, '{');
    qdq_html_json(b, p->graph);
    qdq_buf_printf(b, ": {\n  \"name\": \"%s\",\n  \"results\": {",
                   p->relative ? "qdq: estimated time, % of the given model" : "qdq: ms of one run");
    for (size_t i = 0; i < p->n_nodes; i++) {
        const qdq_picture_node *n = &p->node[i];
        const char *colour = colour_of(n->chosen);

        if (!isfinite(n->chosen_us))
            continue;
        qdq_buf_printf(b, "%s\n    ", comma);
        qdq_html_json(b, n->key);
        qdq_buf_printf(b, ": {\"value\": %.6g", n->chosen_us / (p->relative ? 1 : 1000));
        if (colour != NULL)
            qdq_buf_printf(b, ", \"bgColor\": \"%s\", \"textColor\": \"#ffffff\"", colour);
        qdq_buf_putc(b, '}');
        comma = ",";
    }
    qdq_buf_puts(b, "\n  }\n}}\n");
}
