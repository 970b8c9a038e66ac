/* equalized.c - see the header. */
#include "quant/equalized.h"

#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "opt/fuse/composite.h"
#include "qdq/pass.h"

static const char pass_name[] = "equalize";

/* Fewer bits than data have make the noise of weights count alone. */
const char *qdq_equalize_pass(const qdq_target *t)
{
    const qdq_format *f = &t->format;
    bool per_channel = f->weight_per_channel || f->weight_block != 0;
    bool weights = !qdq_elem_is_code(f->activation.type) ||
                   qdq_elem_bits(f->weight.type) < qdq_elem_bits(f->activation.type);

    if (per_channel)
        return weights ? "equalize:per-channel+weights" : "equalize:per-channel";
    return weights ? "equalize:weights" : "equalize";
}

/* A pair may be changed in several sweeps: it counts by the node that is named. */
typedef struct pairs {
    qdq_map by_node;
    bool no_memory;
} pairs;

static void count_pair(void *ctx, uint64_t number, const char *pass, const char *where)
{
    pairs *p = ctx;

    (void)number;
    if (strcmp(pass, pass_name) == 0)
        p->no_memory = qdq_map_put(&p->by_node, where, NULL) == NULL || p->no_memory;
}

/* `reason` NULL: any. */
static size_t count_refused(const qdq_optimize_report *r, const char *pass, const char *reason)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; strcmp(r->passes[i].pass, pass) == 0 && k < r->passes[i].n_refusals; k++)
            if (reason == NULL || strcmp(r->passes[i].refusals[k].reason, reason) == 0)
                n += r->passes[i].refusals[k].n;
    return n;
}

qdq_status qdq_clean(qdq_model *m, const char *passes, qdq_cleaned *out, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;
    pairs p = {QDQ_MAP_INIT, false};

    *out = (qdq_cleaned){0};
    opts.passes = passes;
    opts.growth_bytes = QDQ_CLEAN_GROWTH;
    opts.on_change = count_pair;
    opts.ctx = &p;
    qdq_status st = qdq_model_optimize(m, &opts, &report, err);
    if (st == QDQ_OK) {
        *out = (qdq_cleaned){p.by_node.n_live, count_refused(report, pass_name, NULL),
                             count_refused(report, "fuse-layernorm", qdq_layernorm_too_old)};
        st = p.no_memory ? qdq_nomem(err) : QDQ_OK;
    }
    qdq_optimize_report_free(report);
    qdq_map_free(&p.by_node);
    return st;
}
