/* fusions_build.c - groups by number of a node, as the steps that find fusion groups see them. */
#include "tune/group/fusions_build.h"

#include "base/fail.h"
#include "base/words.h"
#include "engine/layer_nodes.h"

bool qdq_fusion_is_light(const qdq_node *n)
{
    return n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR ||
           qdq_layer_is_movement(n);
}

static bool can_be_quantized(const qdq_node *n, const qdq_fusion_opts *o)
{
    static const char *const ops[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", NULL};

    return n->domain[0] == '\0' && qdq_word_is_in(n->type, o->ops != NULL ? o->ops : ops);
}

qdq_status qdq_fb_open(qdq_fb *b, qdq_fusions *f, const qdq_model *m, const qdq_fusion_opts *opts,
                       qdq_error *err)
{
    *b = (qdq_fb){.f = f, .g = &f->g, .opts = opts};
    QDQ_TRY(qdq_region_graph_new(m->graph, &f->arena, &f->g, err));
    size_t n = (size_t)f->g.n + 1;
    b->group = qdq_arena_array(&b->scratch, n, sizeof *b->group);
    b->linear = qdq_arena_array(&b->scratch, n, sizeof *b->linear);
    b->cut = qdq_arena_array(&b->scratch, n, sizeof *b->cut);
    b->named = qdq_arena_array(&b->scratch, n, sizeof *b->named);
    b->seen = qdq_arena_array(&b->scratch, n, sizeof *b->seen);
    QDQ_NEED(b->group != NULL && b->linear != NULL && b->cut != NULL && b->named != NULL &&
                 b->seen != NULL,
             err);
    for (uint32_t i = 0; i < f->g.n; i++) {
        b->group[i] = QDQ_NO_FUSION;
        b->linear[i] = can_be_quantized(f->g.node[i], opts);
    }
    return QDQ_OK;
}

qdq_status qdq_fb_number(qdq_fb *b, qdq_error *err)
{
    uint32_t *number = qdq_arena_array(&b->scratch, (size_t)b->n_groups + 1, sizeof *number), n = 0;

    QDQ_NEED(number != NULL, err);
    for (uint32_t i = 0; i < b->g->n; i++) {
        if (b->group[i] == QDQ_NO_FUSION)
            continue;
        if (number[b->group[i]] == 0)
            number[b->group[i]] = ++n;
        b->group[i] = number[b->group[i]] - 1;
    }
    b->n_groups = n;
    return QDQ_OK;
}

qdq_status qdq_fb_members(qdq_fb *b, qdq_fusion_members *out, qdq_error *err)
{
    uint32_t *next = qdq_arena_array(&b->scratch, (size_t)b->n_groups + 1, sizeof *next);

    out->n = b->n_groups;
    out->first = qdq_arena_array(&b->scratch, (size_t)out->n + 2, sizeof *out->first);
    out->member = qdq_arena_array(&b->scratch, (size_t)b->g->n + 1, sizeof *out->member);
    QDQ_NEED(next != NULL && out->first != NULL && out->member != NULL, err);
    for (uint32_t i = 0; i < b->g->n; i++)
        if (b->group[i] != QDQ_NO_FUSION)
            out->first[b->group[i] + 1]++;
    for (uint32_t k = 0; k < out->n; k++) {
        out->first[k + 1] += out->first[k];
        next[k] = out->first[k];
    }
    for (uint32_t i = 0; i < b->g->n; i++)
        if (b->group[i] != QDQ_NO_FUSION)
            out->member[next[b->group[i]]++] = i;
    return QDQ_OK;
}
