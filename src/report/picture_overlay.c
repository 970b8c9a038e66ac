/* picture_overlay.c - the picture's data as a file of node data for Model Explorer
 * (google-ai-edge/model-explorer, API guide, "Create custom node data"). Colours are those of
 * picture_style.css in its light scheme. */
#include <math.h>
#include <string.h>

#include "base/elem_info.h"
#include "report/html.h"
#include "report/picture.h"

static const char *colour_of(qdq_elem e)
{
    const qdq_elem_info *info = qdq_elem_get_info(e);
    const bool is_float = info->kind == QDQ_ELEM_FLOAT;

    if (e == QDQ_INT8)
        return "#2f6fde";
    if (e == QDQ_UINT8)
        return "#7a4fd0";
    if (info->bits == 2 || info->bits == 4)
        return "#c2408f";
    if (info->bits == 16)
        return is_float ? "#2b8f5f" : "#0f8aa8";
    return is_float && info->bits == 8 ? "#c9681a" : NULL;
}

enum { MOST_DEPTH = 64 };

/* Model Explorer's reader of ONNX draws the branches of If where the If stands, with names below
 * its own, and bodies of Loop and Scan as graphs. False: node i is the outermost in its graph. */
static bool is_in_branch(const qdq_picture *p, size_t i)
{
    return p->node[i].within != 0 && strcmp(p->node[p->node[i].within - 1].op, "If") == 0;
}

static size_t outermost(const qdq_picture *p, size_t i)
{
    while (is_in_branch(p, i))
        i = p->node[i].within - 1;
    return i;
}

/* "IF/then_branch/NAME" */
static void put_key(qdq_buf *key, const qdq_picture *p, size_t i)
{
    size_t chain[MOST_DEPTH + 1], n = 0;

    for (chain[0] = i; n < MOST_DEPTH && is_in_branch(p, chain[n]); n++)
        chain[n + 1] = p->node[chain[n]].within - 1;
    for (; n > 0; n--)
        qdq_buf_printf(key, "%s/%s/", p->node[chain[n]].key, p->node[chain[n - 1]].body);
    qdq_buf_puts(key, p->node[i].key);
}

static void put_json(qdq_buf *b, qdq_buf *text)
{
    b->failed = b->failed || text->failed;
    if (!b->failed)
        qdq_html_json(b, text->data);
}

static void put_result(qdq_buf *b, const qdq_picture *p, size_t i, qdq_buf *key, const char *comma)
{
    const char *colour = colour_of(p->node[i].chosen);

    qdq_buf_printf(b, "%s\n    ", comma);
    key->size = 0;
    put_key(key, p, i);
    put_json(b, key);
    qdq_buf_printf(b, ": {\"value\": %.6g", p->node[i].chosen_us / (p->relative ? 1 : 1000));
    if (colour != NULL)
        qdq_buf_printf(b, ", \"bgColor\": \"%s\", \"textColor\": \"#ffffff\"", colour);
    qdq_buf_putc(b, '}');
}

static bool is_together(const qdq_picture *p, size_t i, size_t k)
{
    const qdq_picture_node *a = &p->node[outermost(p, i)], *b = &p->node[outermost(p, k)];

    return a->within == b->within && (a->within == 0 || (a->body != NULL && b->body != NULL &&
                                                         strcmp(a->body, b->body) == 0));
}

/* The graph that begins with node `first`. What follows is in it, or in a graph inside, up to a
 * node further out. */
static void put_graph(qdq_buf *b, const qdq_picture *p, size_t first, qdq_buf *key)
{
    const char *comma = "";

    qdq_buf_printf(b, ": {\n  \"name\": \"%s\",\n  \"results\": {",
                   p->relative ? "qdq: estimated time, % of the input model"
                               : "qdq: ms of one run");
    for (size_t i = first; i < p->n_nodes && p->node[i].within >= p->node[first].within; i++) {
        if (!isfinite(p->node[i].chosen_us) || !is_together(p, i, first))
            continue;
        put_result(b, p, i, key, comma);
        comma = ",";
    }
    qdq_buf_puts(b, "\n  }\n}");
}

/* Is node i the first one of a body of Loop or Scan? */
static bool begins_body(const qdq_picture *p, size_t i)
{
    const uint32_t owner = p->node[i].within;

    if (owner == 0 || is_in_branch(p, i))
        return false;
    for (size_t k = i; k-- > owner;)
        if (is_together(p, k, i))
            return false;
    return true;
}

void qdq_picture_overlay(qdq_buf *b, const qdq_picture *p)
{
    qdq_buf key = QDQ_BUF_INIT(1 << 20);

    qdq_buf_putc(b, '{');
    qdq_html_json(b, p->graph);
    put_graph(b, p, 0, &key);
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (!begins_body(p, i))
            continue;
        key.size = 0;
        put_key(&key, p, p->node[i].within - 1);
        qdq_buf_printf(&key, "/%s", p->node[i].body);
        qdq_buf_puts(b, ",\n");
        put_json(b, &key);
        put_graph(b, p, i, &key);
    }
    qdq_buf_puts(b, "}\n");
    qdq_buf_free(&key);
}
