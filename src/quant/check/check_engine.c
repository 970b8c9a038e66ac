/* check_engine.c - which kernel ran for each node, and how long Q and DQ took that are still there.
 *
 * The engine renames what it fuses and moves, but keeps the old name inside the new one. So the
 * copy that it gets has nodes called "@17@", and the number is found again in "@17@_token_3" or
 * "fused @17@". Profiles list the optimized graph as it is executed: what is not in it was fused
 * away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/check/check_state.h"

enum { RUNS = 5 };

/* The id in a layer's name; false: none. */
static bool id_in(const char *name, uint32_t *id)
{
    for (const char *at = name; (at = strchr(at, '@')) != NULL; at++) {
        char *end;
        unsigned long n = strtoul(at + 1, &end, 10);

        if (end != at + 1 && *end == '@' && n <= UINT32_MAX) {
            *id = (uint32_t)n;
            return true;
        }
    }
    return false;
}

static qdq_status clone_numbered(qdq_checking *c, qdq_model **out)
{
    char name[32];

    QDQ_TRY(qdq_model_clone(c->m, out, c->err));
    /* in the same order, under other ids */
    qdq_node *copy = qdq_live_from((*out)->graph, (*out)->graph->end.next);
    QDQ_FOR_NODES (n, c->m->graph) {
        snprintf(name, sizeof name, "@%u@", (unsigned)n->id);
        QDQ_NEED(qdq_node_set_name(copy, name), c->err);
        copy = qdq_live_from((*out)->graph, copy->next);
    }
    return QDQ_OK;
}

static qdq_status take_layers(qdq_checking *c, const qdq_layer *layers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t id;

        if (!id_in(layers[i].layer, &id) || id >= c->m->graph->next_node_id)
            continue;
        qdq_check_node *s = &c->node[id];
        bool is_conversion = strcmp(layers[i].op, "QuantizeLinear") == 0 ||
                             strcmp(layers[i].op, "DequantizeLinear") == 0;

        if (is_conversion) {
            s->microseconds += layers[i].median_us;
            continue;
        }
        s->kernel = qdq_arena_strdup(&c->arena, layers[i].op);
        QDQ_NEED(s->kernel != NULL, c->err);
    }
    return QDQ_OK;
}

static qdq_status profile_model(qdq_checking *c, const qdq_model *m)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in = NULL;
    qdq_session *s = NULL;
    qdq_layer *layers = NULL;
    size_t n_in = 0, n = 0;

    so.profile = true;
    so.threads = c->opts->threads;
    so.shapes = c->opts->shapes;
    so.n_shapes = c->opts->n_shapes;
    qdq_status st = qdq_session_open(c->opts->engine, m, &so, &s, c->err);
    if (st == QDQ_OK)
        st = qdq_random_inputs(s, 1, &in, &n_in, c->err);
    if (st == QDQ_OK)
        st = qdq_session_profile(s, in, n_in, RUNS, &layers, &n, c->err);
    if (st == QDQ_OK)
        st = take_layers(c, layers, n);
    qdq_free(layers);
    qdq_free(in);
    qdq_session_close(s);
    return st;
}

qdq_status qdq_check_engine(qdq_checking *c)
{
    const qdq_engine_info *info = qdq_engine_get_info(c->opts->engine);
    qdq_model *copy = NULL;

    if ((info->capabilities & QDQ_CAN_PROFILE) == 0)
        return qdq_fail(c->err, QDQ_E_UNSUPPORTED,
                        "engine '%s' reports no kernels: expected one that does, as ort",
                        info->name);
    qdq_status st = clone_numbered(c, &copy);
    if (st == QDQ_OK)
        st = profile_model(c, copy);
    qdq_model_free(copy);
    c->proven = st == QDQ_OK;
    return st;
}
