/* trt_names.c - the index: sorted names, in which a prefix is a range that gets narrower with each
 * byte. That is a trie without nodes, and costs no memory of its own. */
#include "engine/trt/trt_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* --- making ----------------------------------------------------------------------------------- */

static bool add_name(qdq_trt_trie *t, qdq_arena *arena, const char *text, const qdq_node *n,
                     const qdq_value *v)
{
    const qdq_trt_name name = {text, n, v, false};

    return QDQ_PUSH(arena, t, name);
}

/* A name without dots is in both, so that a name that dots are taken from can be told from one that
 * never had any. */
static bool add_both(qdq_trt_names *names, qdq_arena *arena, const char *text, const qdq_node *n,
                     const qdq_value *v)
{
    char *copy;

    if (!add_name(&names->exact, arena, text, n, v))
        return false;
    if (strchr(text, '.') == NULL)
        return add_name(&names->dotless, arena, text, n, v);
    copy = qdq_arena_strdup(arena, text);
    if (copy == NULL)
        return false;
    for (char *p = copy; (p = strchr(p, '.')) != NULL;)
        *p = '_';
    return add_name(&names->dotless, arena, copy, n, v);
}

/* As the ONNX parser calls a node without a name, unless one of that name is there. */
static bool add_node(qdq_trt_names *names, qdq_arena *arena, const qdq_node *n)
{
    if (n->name[0] != '\0')
        return add_both(names, arena, n->name, n, NULL);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL) {
            const char *name = qdq_arena_printf(arena, "node_of_%s", n->out[i]->name);

            return name != NULL && add_both(names, arena, name, n, NULL);
        }
    return true;
}

/* By text; of equal ones nodes stand before tensors. */
static int compare(const void *a, const void *b)
{
    const qdq_trt_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : (x->value != NULL) - (y->value != NULL);
}

/* One entry for each text: a node goes before a tensor, and two of a kind that mean different
 * things are ambiguous. */
static void sort(qdq_trt_trie *t)
{
    size_t kept = 0;

    if (t->n > 0)
        qsort(t->at, t->n, sizeof t->at[0], compare);
    for (size_t i = 0; i < t->n; i++) {
        qdq_trt_name *last = kept > 0 ? &t->at[kept - 1] : NULL;

        if (last == NULL || strcmp(last->text, t->at[i].text) != 0)
            t->at[kept++] = t->at[i];
        else if ((last->value == NULL) == (t->at[i].value == NULL) &&
                 (last->node != t->at[i].node || last->value != t->at[i].value))
            last->ambiguous = true;
    }
    t->n = kept;
}

qdq_status qdq_trt_names_make(const qdq_graph *g, qdq_arena *arena, qdq_trt_names *out,
                              qdq_error *err)
{
    *out = (qdq_trt_names){.graph = g};
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];
        QDQ_NEED(add_both(out, arena, v->name, NULL, v), err);
    }
    QDQ_FOR_NODES (n, g) {
        QDQ_NEED(add_node(out, arena, n), err);
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != NULL && !add_both(out, arena, n->out[i]->name, n, n->out[i]))
                return qdq_nomem(err);
        /* a shared one comes several times, and is kept once */
        for (uint32_t i = 0; i < n->n_in; i++) {
            const qdq_value *v = qdq_node_in(n, i);
            if (v != NULL && v->producer == NULL && !v->is_input &&
                !add_both(out, arena, v->name, NULL, v))
                return qdq_nomem(err);
        }
    }
    sort(&out->exact);
    sort(&out->dotless);
    return QDQ_OK;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Narrows [low, high) to the names whose byte number `depth` is c. */
static void narrow(const qdq_trt_trie *t, size_t depth, unsigned char c, size_t *low, size_t *high)
{
    size_t a = *low, b = *high;

    while (a < b) { /* the first that is not below */
        size_t middle = a + (b - a) / 2;
        if ((unsigned char)t->at[middle].text[depth] < c)
            a = middle + 1;
        else
            b = middle;
    }
    *low = a;
    for (b = *high; a < b;) { /* the first that is above */
        size_t middle = a + (b - a) / 2;
        if ((unsigned char)t->at[middle].text[depth] <= c)
            a = middle + 1;
        else
            b = middle;
    }
    *high = a;
}

const qdq_trt_name *qdq_trt_name_longest(const qdq_trt_trie *t, const char *s, qdq_trt_end_fn ends)
{
    const qdq_trt_name *found = NULL;
    size_t low = 0, high = t->n;

    for (size_t depth = 0; s[depth] != '\0' && low < high; depth++) {
        narrow(t, depth, (unsigned char)s[depth], &low, &high);
        /* The shortest of a range stands first, and has all its bytes: is it the prefix itself? */
        if (low < high && t->at[low].text[depth + 1] == '\0' && ends(s + depth + 1))
            found = &t->at[low];
    }
    return found;
}

const qdq_trt_name *qdq_trt_name_find(const qdq_trt_trie *t, const char *name, size_t size)
{
    size_t low = 0, high = t->n;

    if (size == 0)
        return NULL;
    for (size_t depth = 0; depth < size && low < high; depth++)
        narrow(t, depth, (unsigned char)name[depth], &low, &high);
    return low < high && t->at[low].text[size] == '\0' ? &t->at[low] : NULL;
}

static const qdq_value *value_named(const qdq_trt_names *names, const char *tensor, size_t size)
{
    char text[2000];

    if (size >= sizeof text)
        return NULL;
    memcpy(text, tensor, size);
    text[size] = '\0';
    const qdq_value *v = qdq_graph_find(names->graph, text);
    const qdq_trt_name *name = v == NULL ? qdq_trt_name_find(&names->dotless, text, size) : NULL;
    return name != NULL && !name->ambiguous ? name->value : v;
}

const qdq_value *qdq_trt_find_value(const qdq_trt_names *names, const char *tensor)
{
    static const char copy[] = " copy";
    size_t n = strlen(tensor);
    const qdq_value *v = n > 0 ? value_named(names, tensor, n) : NULL;

    if (v == NULL && n > sizeof copy - 1 && strcmp(tensor + n - (sizeof copy - 1), copy) == 0)
        v = value_named(names, tensor, n - (sizeof copy - 1));
    return v;
}

bool qdq_trt_said_add(qdq_trt_said *said, const qdq_node *n, qdq_arena *arena)
{
    if (n == NULL)
        return true;
    for (size_t i = 0; i < said->nodes.n; i++)
        if (said->nodes.at[i] == n)
            return true;
    return QDQ_PUSH(arena, &said->nodes, n);
}
