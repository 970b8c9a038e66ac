/* place_partitions_match.c - paths of operators: is there, from a node on, a chain that a target describes?
 *
 * Not a search that starts at every node: one walk over the sorted graph that asks, for each node, from which words of
 * the path on the rest is there. What its neighbours answered decides, so that a path costs as much as the graph has
 * edges, however many ways lead through it. */
#include "quant/place_partitions.h"

#include <string.h>

#include "base/fail.h"

/* A path with its words as numbers: operators, and behind them kinds. */
typedef struct words {
    uint32_t symbol[QDQ_PATH_WORDS][QDQ_PATH_CHOICES]; /* 0: none */
    bool optional[QDQ_PATH_WORDS];
    size_t n;
    bool through[QDQ_OP_COUNT + 4];
    unsigned classes;
} words;

static uint32_t kind_symbol(qdq_part_kind kind)
{
    return kind == QDQ_PART_PLAIN ? 0 : QDQ_OP_COUNT + (uint32_t)kind;
}

static uint32_t symbol_of(const char *word)
{
    static const char *const kinds[] = {NULL, "BiasAdd", "NonBiasAdd", "ConstMul"};

    for (size_t i = 1; i < QDQ_COUNT(kinds); i++)
        if (strcmp(word, kinds[i]) == 0)
            return kind_symbol((qdq_part_kind)i);
    return (uint32_t)qdq_op_find("", word); /* UNKNOWN, 0, is no node's */
}

static void read_words(const qdq_path *path, unsigned classes, words *w)
{
    *w = (words){.n = path->n, .classes = classes};
    for (size_t i = 0; i < path->n; i++) {
        w->optional[i] = path->word[i].optional;
        for (size_t k = 0; k < QDQ_PATH_CHOICES && path->word[i].op[k] != NULL; k++)
            w->symbol[i][k] = symbol_of(path->word[i].op[k]);
    }
    for (size_t i = 0; path->through != NULL && path->through[i] != NULL; i++)
        w->through[symbol_of(path->through[i])] = true;
    w->through[QDQ_OP_UNKNOWN] = false;
}

static bool is_word(const words *w, size_t i, const qdq_node *n, uint32_t kind)
{
    for (size_t k = 0; k < QDQ_PATH_CHOICES; k++)
        if (w->symbol[i][k] != 0 && (w->symbol[i][k] == (uint32_t)n->op || w->symbol[i][k] == kind))
            return true;
    return false;
}

static bool is_through(const qdq_parting *t, const words *w, const qdq_node *n, uint32_t kind)
{
    return w->through[n->op] || (kind != 0 && w->through[kind]) || qdq_part_is(t, n, w->classes);
}

/* Bits of words that a neighbour goes on with. */
static uint32_t bits_ahead(const qdq_parting *t, const qdq_node *n, bool forward, const uint32_t *ok)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; !forward && i < n->n_in; i++) {
        const qdq_node *before = qdq_part_producer(t, n->in[i].value);
        bits |= before != NULL ? ok[before->id] : 0;
    }
    for (uint32_t i = 0; forward && i < n->n_out; i++)
        if (n->out[i] != NULL)
            QDQ_FOR_USES (u, n->out[i])
                bits |= qdq_part_here(t, u->node) ? ok[u->node->id] : 0;
    return bits;
}

static uint32_t bits_of(const qdq_parting *t, const words *w, const qdq_node *n, uint32_t ahead)
{
    uint32_t kind = kind_symbol(qdq_part_of(t, n)->kind), bits = 0;

    for (size_t i = w->n; i-- > 0;) {
        bool ok;

        if (is_word(w, i, n, kind))
            ok = i + 1 == w->n || (ahead >> (i + 1) & 1) != 0;
        else if (is_through(t, w, n, kind))
            ok = (ahead >> i & 1) != 0;
        else
            ok = w->optional[i] && (bits >> (i + 1) & 1) != 0;
        bits |= (uint32_t)ok << i;
    }
    return bits;
}

qdq_status qdq_part_match(const qdq_parting *t, const qdq_path *path, bool forward, unsigned through,
                          uint32_t **ok, qdq_error *err)
{
    qdq_placing *p = t->p;
    words w;

    read_words(path, through, &w);
    *ok = qdq_arena_array(&p->scratch, (size_t)p->model->graph->next_node_id + 1, sizeof **ok);
    if (*ok == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < p->n_order; i++) {
        const qdq_node *n = p->order[forward ? p->n_order - 1 - i : i];

        (*ok)[n->id] = bits_of(t, &w, n, bits_ahead(t, n, forward, *ok));
    }
    return QDQ_OK;
}

bool qdq_part_starts(const qdq_parting *t, const qdq_path *path, const uint32_t *ok, const qdq_node *n)
{
    words w;

    if ((ok[n->id] & 1) == 0)
        return false;
    read_words(path, 0, &w);
    return is_word(&w, 0, n, kind_symbol(qdq_part_of(t, n)->kind));
}

/* The first neighbour that word i goes on with. */
static const qdq_node *next_node(const qdq_parting *t, const qdq_node *n, bool forward, const uint32_t *ok,
                                 size_t i)
{
    for (uint32_t k = 0; !forward && k < n->n_in; k++) {
        const qdq_node *before = qdq_part_producer(t, n->in[k].value);
        if (before != NULL && (ok[before->id] >> i & 1) != 0)
            return before;
    }
    for (uint32_t k = 0; forward && k < n->n_out; k++)
        if (n->out[k] != NULL)
            QDQ_FOR_USES (u, n->out[k])
                if (qdq_part_here(t, u->node) && (ok[u->node->id] >> i & 1) != 0)
                    return u->node;
    return NULL;
}

/* Word i of the path is looked for at n, and is there: where does it go on? */
static void step(const qdq_parting *t, const words *w, bool forward, const uint32_t *ok, const qdq_node *n,
                 size_t i, uint32_t *reached, uint32_t *out)
{
    uint32_t kind = kind_symbol(qdq_part_of(t, n)->kind);
    bool is = is_word(w, i, n, kind);

    if (is)
        out[n->id] |= (uint32_t)1 << i;
    if (is || is_through(t, w, n, kind)) {
        size_t wanted = is ? i + 1 : i;
        const qdq_node *next = wanted < w->n ? next_node(t, n, forward, ok, wanted) : NULL;

        if (next != NULL)
            reached[next->id] |= (uint32_t)1 << wanted;
    } else {
        reached[n->id] |= (uint32_t)1 << (i + 1); /* an optional word that is not there */
    }
}

qdq_status qdq_part_trace(const qdq_parting *t, const qdq_path *path, bool forward, const uint32_t *ok,
                          const bool *start, uint32_t **out, qdq_error *err)
{
    qdq_placing *p = t->p;
    size_t count = (size_t)p->model->graph->next_node_id + 1;
    uint32_t *reached = qdq_arena_array(&p->scratch, count, sizeof *reached);
    words w;

    read_words(path, 0, &w);
    *out = qdq_arena_array(&p->scratch, count, sizeof **out);
    if (*out == NULL || reached == NULL)
        return qdq_nomem(err);
    for (size_t k = 0; k < p->n_order; k++) {
        const qdq_node *n = p->order[forward ? k : p->n_order - 1 - k];

        reached[n->id] |= start[n->id];
        for (size_t i = 0; i < w.n; i++)
            if ((reached[n->id] & ok[n->id] & (uint32_t)1 << i) != 0)
                step(t, &w, forward, ok, n, i, reached, *out);
    }
    return QDQ_OK;
}
