/* cli_fusions.c - prints fusion groups: how they were found, which are alike, how long they take,
 * their nodes. */
#include "cli/cli_fusions.h"

#include <math.h>

#include "base/fail.h"
#include "cli/cli_engine.h"
#include "cli/cli_groups.h"

enum { SHOWN_NODES = 4 };

static void put_us(cli_table *t, double us)
{
    if (isnan(us))
        cli_cell(t, "-");
    else
        cli_cell(t, "%.1f", us);
}

static void print_sum(const qdq_fusion_list *l)
{
    size_t linear = 0, structural = 0;

    for (size_t i = 0; i < l->n; i++) {
        linear += l->at[i].n_linear > 0;
        structural += l->at[i].source == QDQ_FUSION_STRUCTURAL;
    }
    printf("%zu group%s of %zu kind%s, %zu of them with operators that can be quantized, %zu by "
           "structure alone",
           l->n, cli_plural(l->n), l->n_keys, cli_plural(l->n_keys), linear, structural);
    if (!isnan(l->matched))
        printf("; %.0f %% of the layers are theirs", 100 * l->matched);
    printf("\n");
}

qdq_status cli_fusions_print(cli *c, const qdq_fusion_list *l, bool verbose, qdq_error *err)
{
    cli_table t = {.arena = &c->arena, .columns = "rrrlrrl"};

    CLI_CELLS(&t, "group", "us", "converting", "by", "kind", "linear", "nodes");
    for (size_t i = 0; i < l->n; i++) {
        const qdq_fusion_info *f = &l->at[i];
        cli_cell(&t, "%zu", i);
        put_us(&t, f->us);
        put_us(&t, f->converts_us);
        cli_cell(&t, "%s", qdq_fusion_source_name(f->source));
        cli_cell(&t, "%zu", f->class_id);
        cli_cell(&t, "%zu", f->n_linear);
        cli_cell(&t, "%s",
                 cli_nodes_text(c, f->node, f->n_nodes, verbose ? SIZE_MAX - 1 : SHOWN_NODES));
    }
    QDQ_TRY(cli_table_print(&t, stdout, err));
    print_sum(l);
    return QDQ_OK;
}

static void group_json(qdq_json_out o, const qdq_fusion_info *f)
{
    qdq_json_put_short(o, "us", f->us);
    qdq_json_put_short(o, "conversions_us", f->converts_us);
    qdq_json_put_text(o, "by", qdq_fusion_source_name(f->source));
    qdq_json_put_bool(o, "cut", f->is_part);
    qdq_json_put_int(o, "kind", (int64_t)f->class_id);
    qdq_json_put_text(o, "key", f->key);
    qdq_json_put_int(o, "linear", (int64_t)f->n_linear);
    qdq_json_put_int(o, "layers", (int64_t)f->n_layers);
    qdq_json_put_some(o, "layer", f->layer);
    qdq_json_put_texts(o, "nodes", f->node, f->n_nodes);
}

void cli_fusions_json(qdq_json_out to, const qdq_fusion_list *l)
{
    qdq_json_put_int(to, "kinds", (int64_t)l->n_keys);
    qdq_json_put_short(to, "matched", l->matched);
    qdq_json_put_short(to, "covered", l->covered);
    qdq_json_out groups = qdq_json_put_list(to, "groups");
    for (size_t i = 0; i < l->n; i++)
        group_json(qdq_json_put_object(groups, NULL), &l->at[i]);
}
