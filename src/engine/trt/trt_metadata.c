/* trt_metadata.c - "[ONNX Layer: /l1/Conv]\x1e[ONNX Layer: /l1/Relu]": which nodes a layer was made
 * of, as the ONNX parser noted them. Entries are separated by 0x1E and 0x1F; texts beyond 4000
 * bytes have lost their middle. */
#include <string.h>

#include "engine/trt/trt_names.h"

static const char tag[] = "[ONNX Layer: ", cut[] = " ... ";

static const char *find_in(const char *from, const char *end, const char *part)
{
    return memmem(from, (size_t)(end - from), part, strlen(part));
}

static const qdq_trt_name *find_node(const qdq_trt_names *names, const char *name, size_t size)
{
    const qdq_trt_name *n = qdq_trt_name_find(&names->exact, name, size);

    return n != NULL && n->value == NULL ? n : NULL;
}

/* The part in front of " | ", which begins what local functions add: the longest that is a node. */
static const qdq_trt_name *find_without_suffix(const qdq_trt_names *names, const char *name,
                                               size_t size)
{
    for (size_t n = size; n-- > 0;)
        if (n + 3 <= size && memcmp(name + n, " | ", 3) == 0) {
            const qdq_trt_name *found = find_node(names, name, n);
            if (found != NULL)
                return found;
        }
    return NULL;
}

/* "node_of_t5": the node that gives t5, if it has no name of its own or the parser thought so. */
static const qdq_node *find_producer(const qdq_trt_names *names, const char *name, size_t size)
{
    static const char mark[] = "node_of_";
    const size_t n = sizeof mark - 1;

    if (size <= n || memcmp(name, mark, n) != 0)
        return NULL;
    const qdq_trt_name *tensor = qdq_trt_name_find(&names->exact, name + n, size - n);
    if (tensor != NULL && tensor->value == NULL) { /* a node of the tensor's name hides it */
        char text[2000];
        if (size - n >= sizeof text)
            return NULL;
        memcpy(text, name + n, size - n);
        text[size - n] = '\0';
        const qdq_value *v = qdq_graph_find(names->graph, text);
        return v != NULL ? v->producer : NULL;
    }
    return tensor != NULL ? tensor->node : NULL;
}

static bool add_entry(const qdq_trt_names *names, const char *name, size_t size, qdq_arena *arena,
                      qdq_trt_said *out)
{
    const qdq_trt_name *found = find_node(names, name, size);

    if (found == NULL && find_in(name, name + size, cut) != NULL) {
        out->truncated = true;
        return true;
    }
    if (found == NULL)
        found = find_without_suffix(names, name, size);
    if (found != NULL && found->ambiguous) {
        out->ambiguous = true;
        return true;
    }
    const qdq_node *n = found != NULL ? found->node : find_producer(names, name, size);
    out->unknown += n == NULL;
    return qdq_trt_said_add(out, n, arena);
}

/* Where the entry that begins at `from` must have ended. */
static const char *limit_of(const char *from, const char *end)
{
    const char *p = from, *next = find_in(from, end, tag);

    if (next != NULL)
        end = next;
    while (p < end && *p != '\x1e' && *p != '\x1f')
        p++;
    return p;
}

bool qdq_trt_read_metadata(const qdq_trt_names *names, const char *metadata, qdq_arena *arena,
                           qdq_trt_said *out)
{
    const char *end = metadata + strlen(metadata), *p = metadata;

    *out = (qdq_trt_said){0};
    while (p < end) {
        const char *at = find_in(p, end, tag);
        const char *from = at != NULL ? at + sizeof tag - 1 : end;
        const char *limit = limit_of(from, end), *close = limit;

        if (find_in(p, at != NULL ? at : end, cut) != NULL) /* the cut lies between entries */
            out->truncated = true;
        if (at == NULL)
            break;
        while (close > from && close[-1] != ']')
            close--;
        if (close > from) {
            if (!add_entry(names, from, (size_t)(close - 1 - from), arena, out))
                return false;
            p = close;
        } else {
            out->truncated = true; /* no end: half an entry */
            p = limit;
        }
    }
    return true;
}
