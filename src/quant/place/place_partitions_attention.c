/* place_partitions_attention.c - what the engine computes in kernels of its own: composites whose
 * nodes are in no partition, and attentions whose products have no 8-bit kernel. */
#include "base/fail.h"
#include "quant/place/place_partitions.h"

/* Of all nodes that the path begins with, or those of `only`: s->bits as of qdq_part_trace(). */
static qdq_status find_paths(const qdq_partition_state *t, qdq_part_search *s,
                             bool (*only)(const qdq_partition_state *t, const qdq_node *n),
                             qdq_error *err)
{
    bool *start = qdq_place_by_node(t->p, sizeof *start);

    QDQ_NEED(start != NULL, err);
    QDQ_TRY(qdq_part_match(t, s, err));
    QDQ_FOR_PLACED (n, t->p)
        start[n->id] = (s->ok[n->id] & QDQ_PART_STARTS) != 0 && (only == NULL || only(t, n));
    return qdq_part_trace(t, s, start, err);
}

/* --- composites ------------------------------------------------------------------------------- */

static qdq_status freeze_path(const qdq_partition_state *t, const qdq_path *path, qdq_error *err)
{
    qdq_part_search found = {.path = path, .forward = true};

    QDQ_TRY(find_paths(t, &found, NULL, err));
    QDQ_FOR_PLACED (n, t->p) {
        qdq_node_state *s = qdq_state_of(t->p, n);

        if (found.bits[n->id] == 0)
            continue;
        qdq_part_of(t, n)->frozen = true;
        QDQ_PART_SAY(t, n, path->rule, true, "%s", path->reason);
        if (n->op != QDQ_OP_LAYERNORMALIZATION &&
            s->reason == NULL) /* its input may have Q/DQ, all the same */
            s->reason = path->reason;
    }
    return QDQ_OK;
}

qdq_status qdq_part_freeze(const qdq_partition_state *t, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&t->p->scratch);

    for (size_t i = 0; i < t->rules->frozen.n; i++) {
        QDQ_TRY(freeze_path(t, &t->rules->frozen.at[i], err));
        qdq_arena_reset(&t->p->scratch, mark);
    }
    QDQ_FOR_PLACED (n, t->p)
        if (qdq_part_out(t, n))
            qdq_part_of(t, n)->frozen = true;
    return QDQ_OK;
}

/* --- attentions ------------------------------------------------------------------------------- */

static int64_t last_dim(const qdq_value *v)
{
    const qdq_type *type = v != NULL ? v->type : NULL;

    return type != NULL && type->kind == QDQ_TYPE_TENSOR && type->rank > 0
               ? type->dim[type->rank - 1].value
               : -1;
}

/* A product of two activations. */
static bool is_product(const qdq_partition_state *t, const qdq_node *n)
{
    for (uint32_t i = 0; i < 2; i++)
        if (qdq_node_in(n, i) == NULL || qdq_part_known(t, qdq_node_in(n, i)))
            return false;
    return true;
}

/* The length is that of the rows which Softmax sees, the head size what the product sums over: both
 * follow from what a MatMul is, whichever operand was transposed. */
static const char *attention_ineligible(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_attention_filter *f = &t->rules->attention;
    int64_t length = last_dim(qdq_node_out(n, 0)), head = last_dim(qdq_node_in(n, 0));

    if (t->p->target->disable_mha_qdq)
        return "attentions stay float on this target (disable_mha_qdq)";
    if (f->length_max > 0 && length > f->length_max)
        return "an attention over this many positions has no faster kernel in 8 bits";
    if (head >= 0 &&
        ((f->head_min > 0 && head < f->head_min) || (f->head_max > 0 && head > f->head_max)))
        return "an attention with heads of this size has no faster kernel in 8 bits";
    return NULL;
}

static bool product_is_ineligible(const qdq_partition_state *t, const qdq_node *n)
{
    return is_product(t, n) && attention_ineligible(t, n) != NULL;
}

static void leave_float(const qdq_partition_state *t, const uint32_t *bits, const char *reason)
{
    QDQ_FOR_PLACED (n, t->p) {
        qdq_node_state *s = qdq_state_of(t->p, n);

        if (!qdq_part_is(t, n, QDQ_PART_LINEAR) || (bits[n->id] & 5) == 0 || !is_product(t, n))
            continue;
        const char *own = (bits[n->id] & 1) != 0 ? attention_ineligible(t, n) : NULL;
        if (s->reason == NULL)
            s->reason = own != NULL ? own : reason;
        QDQ_PART_SAY(t, n, t->rules->attention.rule, true, "%s: it stays float", s->reason);
    }
}

/* From the Softmax in `start` to the product beside it, of word `to` of the path: *bits as of
 * qdq_part_trace(). */
static qdq_status find_product(const qdq_partition_state *t, const bool *start, int to,
                               uint32_t **bits, qdq_error *err)
{
    const qdq_path *whole = &t->rules->attention.path;
    const qdq_path path = {.text = whole->text,
                           .n = 2,
                           .through = whole->through,
                           .word = {whole->word[1], whole->word[to]}};
    qdq_part_search s = {.path = &path, .forward = to == 2};

    QDQ_TRY(qdq_part_match(t, &s, err));
    QDQ_TRY(qdq_part_trace(t, &s, start, err));
    *bits = s.bits;
    return QDQ_OK;
}

/* The products of each attention whose Softmax is not the start of the path `fused`. Of two
 * attentions with one Softmax, both go. */
static qdq_status leave_unfused(const qdq_partition_state *t, qdq_error *err)
{
    const qdq_attention_filter *f = &t->rules->attention;
    qdq_part_search found = {.path = &f->path, .forward = true}, fused = {.path = &f->fused};
    uint32_t *back, *forth;
    bool *start = qdq_place_by_node(t->p, sizeof *start);

    QDQ_NEED(start != NULL, err);
    QDQ_TRY(find_paths(t, &found, is_product, err));
    QDQ_TRY(qdq_part_match(t, &fused, err));
    QDQ_FOR_PLACED (n, t->p)
        start[n->id] = (found.bits[n->id] & 2) != 0 && (fused.ok[n->id] & QDQ_PART_STARTS) == 0;
    QDQ_TRY(find_product(t, start, 2, &forth, err));
    QDQ_TRY(find_product(t, start, 0, &back, err));
    QDQ_FOR_PLACED (n, t->p)
        found.bits[n->id] = (forth[n->id] | back[n->id]) & 2 ? 4 : 0;
    leave_float(t, found.bits, "the engine has no fused kernel for this form of attention");
    return QDQ_OK;
}

qdq_status qdq_part_filter_attention(const qdq_partition_state *t, qdq_error *err)
{
    const qdq_attention_filter *f = &t->rules->attention;
    qdq_arena_mark mark = qdq_arena_get_mark(&t->p->scratch);
    qdq_part_search found = {.path = &f->path, .forward = true};

    if (f->rule == NULL)
        return QDQ_OK;
    QDQ_TRY(find_paths(t, &found, product_is_ineligible, err));
    leave_float(t, found.bits,
                t->p->target->disable_mha_qdq
                    ? "attentions stay float on this target (disable_mha_qdq)"
                    : "its attention stays float");
    if (f->fused.n > 0)
        QDQ_TRY(leave_unfused(t, err));
    qdq_arena_reset(&t->p->scratch, mark);
    return QDQ_OK;
}
