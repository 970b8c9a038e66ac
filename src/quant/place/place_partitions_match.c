/* place_partitions_match.c - paths of operators: is there, from a node on, a chain that a target
 * describes?
 *
 * Not a search that starts at every node: one walk over the sorted graph that asks, for each node,
 * from which words of the path on the rest is there. What its neighbours answered decides, so that
 * a path costs as much as the graph has edges, however many ways lead through it. */
#include "quant/place/place_partitions.h"

#include <string.h>

#include "base/fail.h"

/* A path as bits: bit i stands for word i. */
typedef struct words {
    /* words that an operator is */
    uint32_t of_op[QDQ_OP_COUNT];
    /* and those that a kind of node is */
    uint32_t of_kind[4];
    uint32_t optional;
    bool through_op[QDQ_OP_COUNT];
    bool through_kind[4];
    unsigned through_classes;
    /* the bit of the last word */
    uint32_t last;
    size_t n;
} words;

/* The kind that a word names; PLAIN: it is an operator. */
static qdq_part_kind kind_of_word(const char *word)
{
    static const char *const kinds[] = {NULL, "BiasAdd", "NonBiasAdd", "ConstMul"};

    for (size_t i = 1; i < QDQ_COUNT(kinds); i++)
        if (strcmp(word, kinds[i]) == 0)
            return (qdq_part_kind)i;
    return QDQ_PART_PLAIN;
}

static void read_word(words *w, const char *word, uint32_t bit)
{
    qdq_part_kind kind = kind_of_word(word);

    if (kind != QDQ_PART_PLAIN)
        w->of_kind[kind] |= bit;
    else
        w->of_op[qdq_op_find("", word)] |= bit;
}

static void read_words(const qdq_path *path, unsigned classes, words *w)
{
    *w = (words){.n = path->n, .through_classes = classes, .last = (uint32_t)1 << (path->n - 1)};
    for (size_t i = 0; i < path->n; i++) {
        uint32_t bit = (uint32_t)1 << i;

        w->optional |= path->word[i].optional ? bit : 0;
        for (size_t k = 0; k < QDQ_PATH_CHOICES && path->word[i].op[k] != NULL; k++)
            read_word(w, path->word[i].op[k], bit);
    }
    for (size_t i = 0; path->through != NULL && path->through[i] != NULL; i++) {
        qdq_part_kind kind = kind_of_word(path->through[i]);

        if (kind != QDQ_PART_PLAIN)
            w->through_kind[kind] = true;
        else
            w->through_op[qdq_op_find("", path->through[i])] = true;
    }
    w->of_op[QDQ_OP_UNKNOWN] = 0; /* words of no operator are no node's */
    w->through_op[QDQ_OP_UNKNOWN] = false;
}

static uint32_t words_of(const qdq_partition_state *t, const words *w, const qdq_node *n)
{
    return w->of_op[n->op] | w->of_kind[qdq_part_of(t, n)->kind];
}

static bool is_through(const qdq_partition_state *t, const words *w, const qdq_node *n)
{
    return w->through_op[n->op] || w->through_kind[qdq_part_of(t, n)->kind] ||
           qdq_part_is(t, n, w->through_classes);
}

/* Bits of words that a neighbour goes on with. */
static uint32_t bits_ahead(const qdq_partition_state *t, const qdq_node *n,
                           const qdq_part_search *s)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; !s->forward && i < n->n_in; i++) {
        const qdq_node *before = qdq_part_producer(t, n->in[i].value);
        bits |= before != NULL ? s->ok[before->id] : 0;
    }
    for (uint32_t i = 0; s->forward && i < n->n_out; i++)
        if (n->out[i] != NULL)
            QDQ_FOR_USES (u, n->out[i])
                bits |= qdq_part_here(t, u->node) ? s->ok[u->node->id] : 0;
    return bits & ~QDQ_PART_STARTS;
}

/* Neighbours are asked only where an answer could count: most nodes are no word of a path. */
static uint32_t bits_of(const qdq_partition_state *t, const words *w, const qdq_node *n,
                        const qdq_part_search *s)
{
    uint32_t own = words_of(t, w, n), bits = own & w->last;
    bool through = is_through(t, w, n);

    if (own == 0 && !through)
        return 0;
    if (own != w->last || through) {
        uint32_t ahead = bits_ahead(t, n, s);

        bits |= own & (ahead >> 1);
        bits |= through ? ahead & ~own : 0;
    }
    uint32_t starts = (bits & own & 1) != 0 ? QDQ_PART_STARTS : 0;
    for (size_t i = w->n - 1; i-- > 0 && !through;)
        bits |= w->optional & ~own & (bits >> 1) & (uint32_t)1 << i; /* it is not there */
    return bits | starts;
}

/* Is there some node for every word that may not be missing? */
static bool is_possible(const qdq_partition_state *t, const words *w)
{
    uint32_t found = w->optional;

    for (size_t i = 0; i < QDQ_OP_COUNT; i++)
        found |= t->present[i] ? w->of_op[i] : 0;
    for (size_t i = 1; i < QDQ_COUNT(w->of_kind); i++)
        found |= t->present[i == QDQ_PART_CONST_MUL ? QDQ_OP_MUL : QDQ_OP_ADD] ? w->of_kind[i] : 0;
    return (found & (2 * w->last - 1)) == 2 * w->last - 1;
}

qdq_status qdq_part_match(const qdq_partition_state *t, qdq_part_search *s, qdq_error *err)
{
    qdq_placing *p = t->p;
    words w;

    read_words(s->path, s->through, &w);
    s->ok = qdq_place_by_node(p, sizeof *s->ok);
    QDQ_NEED(s->ok != NULL, err);
    bool possible = is_possible(t, &w);
    for (size_t i = 0; i < p->n_order && possible; i++) {
        const qdq_node *n = p->order[s->forward ? p->n_order - 1 - i : i];

        s->ok[n->id] = bits_of(t, &w, n, s);
    }
    return QDQ_OK;
}

/* The first neighbour that word i goes on with. */
static const qdq_node *next_node(const qdq_partition_state *t, const qdq_node *n,
                                 const qdq_part_search *s, size_t i)
{
    for (uint32_t k = 0; !s->forward && k < n->n_in; k++) {
        const qdq_node *before = qdq_part_producer(t, n->in[k].value);
        if (before != NULL && (s->ok[before->id] >> i & 1) != 0)
            return before;
    }
    for (uint32_t k = 0; s->forward && k < n->n_out; k++)
        if (n->out[k] != NULL)
            QDQ_FOR_USES (u, n->out[k])
                if (qdq_part_here(t, u->node) && (s->ok[u->node->id] >> i & 1) != 0)
                    return u->node;
    return NULL;
}

/* Word i of the path is looked for at n, and is there: where does it go on? */
static void follow_word(const qdq_partition_state *t, const words *w, const qdq_part_search *s,
                        const qdq_node *n, size_t i, uint32_t *reached)
{
    bool is = (words_of(t, w, n) >> i & 1) != 0;

    if (is)
        s->bits[n->id] |= (uint32_t)1 << i;
    if (is || is_through(t, w, n)) {
        size_t wanted = is ? i + 1 : i;
        const qdq_node *next = wanted < w->n ? next_node(t, n, s, wanted) : NULL;

        if (next != NULL)
            reached[next->id] |= (uint32_t)1 << wanted;
    } else {
        reached[n->id] |= (uint32_t)1 << (i + 1); /* an optional word that is not there */
    }
}

qdq_status qdq_part_trace(const qdq_partition_state *t, qdq_part_search *s, const bool *start,
                          qdq_error *err)
{
    qdq_placing *p = t->p;
    uint32_t *reached = qdq_place_by_node(p, sizeof *reached);
    words w;

    read_words(s->path, 0, &w);
    s->bits = qdq_place_by_node(p, sizeof *s->bits);
    QDQ_NEED(s->bits != NULL && reached != NULL, err);
    for (size_t k = 0; k < p->n_order; k++) {
        const qdq_node *n = p->order[s->forward ? k : p->n_order - 1 - k];

        reached[n->id] |= start[n->id];
        for (size_t i = 0; i < w.n; i++)
            if ((reached[n->id] & s->ok[n->id] & (uint32_t)1 << i) != 0)
                follow_word(t, &w, s, n, i, reached);
    }
    return QDQ_OK;
}
