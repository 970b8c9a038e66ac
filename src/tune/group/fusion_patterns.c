/* fusion_patterns.c - equal fusion groups as patterns. */
#include "tune/group/fusion_patterns.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fail.h"

enum { NAMED = 4, DIGITS = 8 };

static const char *signature_of(const qdq_fusion_key *k, qdq_arena *arena)
{
    const qdq_node *const *node = k->instance[0].node;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    for (uint32_t i = 0; i < k->n_nodes && i < NAMED; i++)
        qdq_buf_printf(&b, "%s%s", i > 0 ? "+" : "", node[i]->type);
    if (k->n_nodes > NAMED)
        qdq_buf_printf(&b, "+%u more", k->n_nodes - NAMED);
    qdq_buf_printf(&b, " #%.*s", DIGITS, k->hash);
    const char *text = b.failed ? NULL : qdq_arena_strdup(arena, b.data);
    qdq_buf_free(&b);
    return text;
}

static qdq_status make_pattern(const qdq_fusion_key *k, qdq_arena *arena, qdq_pattern *out,
                               qdq_error *err)
{
    *out = (qdq_pattern){.signature = signature_of(k, arena),
                         .n_nodes = k->n_nodes,
                         .instance = qdq_arena_array(arena, k->n_instances, sizeof *out->instance),
                         .n_instances = k->n_instances};
    QDQ_NEED(out->signature != NULL && out->instance != NULL, err);
    snprintf(out->hash, sizeof out->hash, "%.32s", k->hash);
    for (size_t half = 0; half < 2; half++) {
        char digits[17];
        snprintf(digits, sizeof digits, "%.16s", k->hash + 16 * half);
        out->canon[half] = strtoull(digits, NULL, 16);
    }
    for (uint32_t i = 0; i < k->n_instances; i++)
        out->instance[i] =
            (qdq_instance){.node = k->instance[i].node, .input = k->instance[i].input};
    return QDQ_OK;
}

qdq_status qdq_fusion_patterns_make(const qdq_fusion_keys *k, qdq_patterns **out, qdq_error *err)
{
    qdq_patterns *p = calloc(1, sizeof *p);
    qdq_status st = QDQ_OK;

    *out = NULL;
    QDQ_NEED(p != NULL, err);
    p->pattern = qdq_arena_array(&p->arena, (size_t)k->n + 1, sizeof *p->pattern);
    if (p->pattern == NULL)
        st = qdq_nomem(err);
    for (p->n = 0; p->n < k->n && st == QDQ_OK; p->n++)
        st = make_pattern(&k->at[p->n], &p->arena, &p->pattern[p->n], err);
    return QDQ_HAND_OVER(p, st, out, qdq_patterns_free);
}
