/* keys.c - content keys of fusion groups: hashes of their canonical forms. */
#include "tune/group/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "tune/group/fusions_build.h"
#include "tune/region/canon.h"

typedef struct keyer {
    const qdq_fusions *f;
    qdq_fusion_keys *k;
    qdq_canon *canon;
    /* by group */
    qdq_key_instance *instance;
    /* by group */
    char (*hash)[65];
    /* by place: in the group or next to it; those places, and their nodes, in the order of the
     * graph */
    bool *is_near;
    uint32_t *near;
    const qdq_node **near_node;
    size_t n_near;
    qdq_arena scratch;
} keyer;

static void put_word(qdq_buf *b, uint64_t word)
{
    qdq_buf_append(b, &word, sizeof word);
}

/* The numbers of the symbols of its dims, in the order in which they are met: which of them are one
 * and the same. */
static void put_symbols(qdq_buf *b, const qdq_value *v, qdq_map *symbols)
{
    for (int i = 0; v != NULL && v->type != NULL && i < v->type->rank; i++) {
        if (v->type->dim[i].value >= 0 || v->type->dim[i].param == NULL)
            continue;
        bool is_new = false;
        qdq_map_value *at =
            qdq_map_put_int(symbols, (uint64_t)(uintptr_t)v->type->dim[i].param, &is_new);
        b->failed |= at == NULL;
        if (is_new)
            at->num = symbols->n_entry;
        if (at != NULL)
            put_word(b, at->num);
    }
}

/* What the form does not say: versions of operators, symbols. */
static void put_rest(qdq_buf *b, const qdq_model *m, const qdq_canon_form *form)
{
    qdq_map symbols = QDQ_MAP_INIT;

    for (size_t k = 0; k < form->n; k++) {
        const qdq_node *n = form->node[k];
        put_word(b, (uint64_t)qdq_model_opset_of(m, n->domain));
        for (uint32_t i = 0; i < n->n_in; i++)
            put_symbols(b, qdq_node_in(n, form->input[k][i]), &symbols);
        for (uint32_t i = 0; i < n->n_out; i++)
            put_symbols(b, n->out[i], &symbols);
    }
    qdq_map_free(&symbols);
}

static qdq_status make_hash(const qdq_model *m, const qdq_canon_form *form, char hash[65],
                            qdq_error *err)
{
    static const char version[] = "qdq fusion key 1";
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_append(&b, version, sizeof version);
    qdq_buf_append(&b, form->word, form->n_words * sizeof *form->word);
    put_rest(&b, m, form);
    if (!b.failed)
        qdq_sha256_bytes(b.data, b.size, hash);
    const qdq_status st = qdq_allocated(!b.failed, err);
    qdq_buf_free(&b);
    return st;
}

static void add_near(keyer *s, uint32_t place)
{
    if (!s->is_near[place])
        s->near[s->n_near++] = place;
    s->is_near[place] = true;
}

/* *form: of the group with the nodes next to it. */
static qdq_status describe_surroundings(keyer *s, uint32_t group, qdq_canon_form *form,
                                        qdq_error *err)
{
    const qdq_region_graph *g = &s->f->g;

    s->n_near = 0;
    for (uint32_t i = 0; i < s->f->at[group].n; i++) {
        const uint32_t p = g->place[s->f->at[group].node[i]->id];
        add_near(s, p);
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++)
            add_near(s, g->source[e]);
        for (uint32_t e = g->first_reader[p]; e < g->first_reader[p + 1]; e++)
            add_near(s, g->reader[e]);
    }
    qdq_region_sort_places(s->near, s->n_near);
    for (size_t i = 0; i < s->n_near; i++) {
        s->near_node[i] = g->node[s->near[i]];
        s->is_near[s->near[i]] = false;
    }
    return qdq_canon_nodes(s->canon, s->near_node, s->n_near, group + 1, &s->scratch, form, err);
}

static qdq_status describe_group(keyer *s, uint32_t group, qdq_error *err)
{
    const qdq_fusion *f = &s->f->at[group];
    qdq_canon_form form, around;

    QDQ_TRY(describe_surroundings(s, group, &around, err));
    QDQ_TRY(qdq_canon_nodes(s->canon, f->node, f->n, group + 1, &s->k->arena, &form, err));
    QDQ_TRY(make_hash(s->f->g.g->model, &form, s->hash[group], err));
    s->instance[group] =
        (qdq_key_instance){group, form.node, form.input, {around.hash[0], around.hash[1]}};
    return QDQ_OK;
}

/* Equal forms are equal graphs (region/canon.c). */
static qdq_status find_key(keyer *s, qdq_map *known, uint32_t group, qdq_error *err)
{
    bool is_new;
    qdq_map_value *v = qdq_map_put(known, s->hash[group], &is_new);

    QDQ_NEED(v != NULL, err);
    if (is_new)
        v->num = s->k->n++;
    s->k->of[group] = (uint32_t)v->num;
    return QDQ_OK;
}

static qdq_status collect_keys(keyer *s, qdq_error *err)
{
    qdq_fusion_keys *k = s->k;

    k->at = qdq_arena_array(&k->arena, (size_t)k->n + 1, sizeof *k->at);
    QDQ_NEED(k->at != NULL, err);
    for (uint32_t i = 0; i < s->f->n; i++)
        k->at[k->of[i]].n_instances++;
    for (uint32_t i = 0; i < k->n; i++) {
        k->at[i].instance =
            qdq_arena_array(&k->arena, k->at[i].n_instances, sizeof *k->at[i].instance);
        QDQ_NEED(k->at[i].instance != NULL, err);
        k->at[i].n_instances = 0;
        k->at[i].us = NAN;
    }
    for (uint32_t i = 0; i < s->f->n; i++) {
        qdq_fusion_key *at = &k->at[k->of[i]];
        if (at->n_instances == 0) {
            memcpy(at->hash, s->hash[i], sizeof at->hash);
            at->n_nodes = s->f->at[i].n;
        }
        at->instance[at->n_instances++] = s->instance[i];
        at->us = qdq_fusion_add_time(at->us, s->f->at[i].us);
    }
    return QDQ_OK;
}

static qdq_status find_keys(keyer *s, qdq_map *known, qdq_error *err)
{
    const qdq_fusions *f = s->f;
    uint32_t *owner = qdq_arena_array(&s->scratch, (size_t)f->g.g->next_node_id + 1, sizeof *owner);

    s->instance = qdq_arena_array(&s->scratch, (size_t)f->n + 1, sizeof *s->instance);
    s->hash = qdq_arena_array(&s->scratch, (size_t)f->n + 1, sizeof *s->hash);
    s->is_near = qdq_arena_array(&s->scratch, (size_t)f->g.n + 1, sizeof *s->is_near);
    s->near = qdq_arena_array(&s->scratch, (size_t)f->g.n + 1, sizeof *s->near);
    s->near_node = qdq_arena_array(&s->scratch, (size_t)f->g.n + 1, sizeof(const qdq_node *));
    s->k->of = qdq_arena_array(&s->k->arena, (size_t)f->n + 1, sizeof *s->k->of);
    QDQ_NEED(owner != NULL && s->instance != NULL && s->hash != NULL && s->is_near != NULL &&
                 s->near != NULL && s->near_node != NULL && s->k->of != NULL,
             err);
    for (uint32_t i = 0; i <= f->g.g->next_node_id; i++)
        owner[i] = f->of[i] != QDQ_NO_FUSION ? f->of[i] + 1 : 0;
    QDQ_TRY(qdq_canon_new_sets(f->g.g, owner, &s->scratch, &s->canon, err));
    for (uint32_t i = 0; i < f->n; i++) {
        QDQ_TRY(describe_group(s, i, err));
        QDQ_TRY(find_key(s, known, i, err));
    }
    return collect_keys(s, err);
}

qdq_status qdq_fusion_keys_find(const qdq_fusions *f, qdq_fusion_keys **out, qdq_error *err)
{
    qdq_map known = QDQ_MAP_INIT;

    *out = calloc(1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    keyer s = {.f = f, .k = *out};
    qdq_status st = find_keys(&s, &known, err);
    qdq_map_free(&known);
    qdq_arena_free(&s.scratch);
    return QDQ_HAND_OVER(*out, st, out, qdq_fusion_keys_free);
}

void qdq_fusion_keys_free(qdq_fusion_keys *k)
{
    if (k == NULL)
        return;
    qdq_arena_free(&k->arena);
    free(k);
}
