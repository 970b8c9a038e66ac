/* keys.c - content keys of fusion groups. Canonical forms find what may be equal; a walk over both
 * says whether it is. */
#include "tune/group/keys.h"

#include <math.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "tune/group/fusions_build.h"
#include "tune/region/canon.h"
#include "tune/region/signature.h"

/* --- equal ------------------------------------------------------------------------------------ */

static bool same_dims(const qdq_type *a, const qdq_type *b, qdq_map *symbols, bool *nomem)
{
    if (a->kind != b->kind || a->elem != b->elem || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        const char *p = a->dim[i].param, *q = b->dim[i].param;
        if (a->dim[i].value != b->dim[i].value || (p == NULL) != (q == NULL))
            return false;
        if (p == NULL || a->dim[i].value >= 0)
            continue;
        bool is_new;
        qdq_map_value *v = qdq_map_put_int(symbols, (uint64_t)(uintptr_t)p, &is_new);
        if (v == NULL) {
            *nomem = true;
            return false;
        }
        if (is_new)
            v->num = (uint64_t)(uintptr_t)q;
        if (v->num != (uint64_t)(uintptr_t)q)
            return false;
    }
    return true;
}

static bool same_type(const qdq_value *a, const qdq_value *b, qdq_map *symbols, bool *nomem)
{
    if (a->type == NULL || b->type == NULL)
        return a->type == b->type;
    return same_dims(a->type, b->type, symbols, nomem);
}

static bool same_const(const qdq_value *a, const qdq_value *b, qdq_arena *scratch)
{
    const qdq_tensor *x = qdq_value_const(a), *y = qdq_value_const(b);
    int64_t *p, *q;

    if (x == NULL || y == NULL)
        return x == y && a->sparse != NULL && b->sparse != NULL;
    if (!qdq_tensor_same_type(x, y))
        return false;
    if (!qdq_elem_is_int(x->elem) || x->count > 8)
        return true;
    return qdq_tensor_ints(x, scratch, 8, &p, NULL) == QDQ_OK &&
           qdq_tensor_ints(y, scratch, 8, &q, NULL) == QDQ_OK &&
           memcmp(p, q, (size_t)x->count * sizeof *p) == 0;
}

static bool same_text(const qdq_attr *a, const qdq_attr *b, bool *nomem)
{
    qdq_buf x = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT), y = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_signature_attr(&x, a);
    qdq_signature_attr(&y, b);
    bool same = a->type == b->type && x.size == y.size &&
                (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
    *nomem |= x.failed || y.failed;
    qdq_buf_free(&x);
    qdq_buf_free(&y);
    return same;
}

static bool has_all_of(const qdq_node *a, const qdq_node *b, bool *nomem)
{
    for (uint32_t i = 0; i < a->n_attr; i++) {
        const qdq_attr *other = qdq_node_attr(b, a->attr[i]->name);
        if (!qdq_canon_is_default(a->attr[i]) &&
            (other == NULL || !same_text(a->attr[i], other, nomem)))
            return false;
    }
    return true;
}

typedef struct walk {
    /* node -> its canonical place; a node of one may feed the other */
    qdq_map in_a, in_b;
    /* value that a reads -> the one that b reads there */
    qdq_map outside;
    qdq_map symbols;
    qdq_arena *scratch;
    bool *nomem;
} walk;

static bool note_place(walk *w, qdq_map *map, const void *key, uint64_t num, bool *agrees)
{
    bool is_new;
    qdq_map_value *v = qdq_map_put_int(map, (uint64_t)(uintptr_t)key, &is_new);

    if (v == NULL) {
        *w->nomem = true;
        return false;
    }
    if (is_new)
        v->num = num;
    *agrees = v->num == num;
    return true;
}

static const qdq_map_value *place_in(const qdq_map *group, const qdq_node *n)
{
    return n != NULL ? qdq_map_get_int(group, (uint64_t)(uintptr_t)n) : NULL;
}

static bool same_operand(walk *w, const qdq_value *a, const qdq_value *b)
{
    bool agrees = false;

    if (a == NULL || b == NULL)
        return a == b;
    if (qdq_region_is_const(a) || qdq_region_is_const(b))
        return qdq_region_is_const(a) && qdq_region_is_const(b) && same_const(a, b, w->scratch);
    if (!same_type(a, b, &w->symbols, w->nomem))
        return false;
    const qdq_map_value *p = place_in(&w->in_a, a->producer);
    const qdq_map_value *q = place_in(&w->in_b, b->producer);
    if (p != NULL || q != NULL)
        return p != NULL && q != NULL && p->num == q->num && a->out_index == b->out_index;
    return note_place(w, &w->outside, a, (uint64_t)(uintptr_t)b, &agrees) && agrees;
}

/* Is it read outside of the group, or given by the graph? */
static bool leaves(const qdq_map *group, const qdq_value *v)
{
    if (v->n_output > 0)
        return true;
    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(v->graph, u);
        if (n != NULL && place_in(group, n) == NULL)
            return true;
    }
    return false;
}

static bool same_node(walk *w, const qdq_key_instance *x, const qdq_key_instance *y, uint32_t k)
{
    const qdq_node *a = x->node[k], *b = y->node[k];
    qdq_region_values reads_a = {0}, reads_b = {0};

    if (strcmp(a->type, b->type) != 0 || strcmp(a->domain, b->domain) != 0 || a->n_in != b->n_in ||
        a->n_out != b->n_out || !has_all_of(a, b, w->nomem) || !has_all_of(b, a, w->nomem))
        return false;
    for (uint32_t i = 0; i < a->n_in; i++)
        if (!same_operand(w, qdq_node_in(a, x->input[k][i]), qdq_node_in(b, y->input[k][i])))
            return false;
    if (qdq_region_reads(a, w->scratch, &reads_a, NULL) != QDQ_OK ||
        qdq_region_reads(b, w->scratch, &reads_b, NULL) != QDQ_OK) {
        *w->nomem = true;
        return false;
    }
    if (reads_a.n != reads_b.n)
        return false;
    for (size_t i = a->n_in; i < reads_a.n; i++) /* what bodies read */
        if (!same_operand(w, reads_a.at[i], reads_b.at[i]))
            return false;
    for (uint32_t i = 0; i < a->n_out; i++) {
        const qdq_value *p = a->out[i], *q = b->out[i];
        if ((p == NULL) != (q == NULL))
            return false;
        if (p != NULL &&
            (!same_type(p, q, &w->symbols, w->nomem) || leaves(&w->in_a, p) != leaves(&w->in_b, q)))
            return false;
    }
    return true;
}

bool qdq_fusion_same(const qdq_key_instance *a, const qdq_key_instance *b, uint32_t n_nodes,
                     qdq_arena *scratch, bool *nomem)
{
    walk w = {.in_a = QDQ_MAP_INIT,
              .in_b = QDQ_MAP_INIT,
              .outside = QDQ_MAP_INIT,
              .symbols = QDQ_MAP_INIT,
              .scratch = scratch,
              .nomem = nomem};
    bool same = true, agrees;

    for (uint32_t k = 0; k < n_nodes && same; k++)
        same = note_place(&w, &w.in_a, a->node[k], k, &agrees) &&
               note_place(&w, &w.in_b, b->node[k], k, &agrees);
    for (uint32_t k = 0; k < n_nodes && same; k++)
        same = same_node(&w, a, b, k);
    qdq_map_free(&w.in_a);
    qdq_map_free(&w.in_b);
    qdq_map_free(&w.outside);
    qdq_map_free(&w.symbols);
    return same && !*nomem;
}

/* --- keys ------------------------------------------------------------------------------------- */

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
    QDQ_VEC(uint64_t) more;
} keyer;

static bool put_word(keyer *s, uint64_t word)
{
    return QDQ_PUSH(&s->scratch, &s->more, word);
}

/* The numbers of the symbols of its dims, in the order in which they are met: which of them are one
 * and the same. */
static bool put_symbols(keyer *s, const qdq_value *v, qdq_map *symbols)
{
    for (int i = 0; v != NULL && v->type != NULL && i < v->type->rank; i++) {
        if (v->type->dim[i].value >= 0 || v->type->dim[i].param == NULL)
            continue;
        bool is_new;
        qdq_map_value *at =
            qdq_map_put_int(symbols, (uint64_t)(uintptr_t)v->type->dim[i].param, &is_new);
        if (at == NULL)
            return false;
        if (is_new)
            at->num = symbols->n_entry;
        if (!put_word(s, at->num))
            return false;
    }
    return true;
}

/* What the form does not say: versions of operators, symbols. */
static bool put_rest(keyer *s, const qdq_canon_form *form, qdq_map *symbols)
{
    const qdq_model *m = s->f->g.g->model;

    s->more.n = 0;
    for (size_t k = 0; k < form->n; k++) {
        const qdq_node *n = form->node[k];
        if (!put_word(s, (uint64_t)qdq_model_opset_of(m, n->domain)))
            return false;
        for (uint32_t i = 0; i < n->n_in; i++)
            if (!put_symbols(s, qdq_node_in(n, form->input[k][i]), symbols))
                return false;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (!put_symbols(s, n->out[i], symbols))
                return false;
    }
    return true;
}

static void make_hash(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, char hash[65])
{
    static const char version[] = "qdq fusion key 1";
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx h;

    sha256_init(&h);
    sha256_update(&h, sizeof version, (const uint8_t *)version);
    sha256_update(&h, n_a * sizeof *a, (const uint8_t *)a);
    sha256_update(&h, n_b * sizeof *b, (const uint8_t *)b);
    sha256_digest(&h, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
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
    qdq_map symbols = QDQ_MAP_INIT;
    qdq_canon_form form, around;

    QDQ_TRY(describe_surroundings(s, group, &around, err));
    QDQ_TRY(qdq_canon_nodes(s->canon, f->node, f->n, group + 1, &s->k->arena, &form, err));
    bool ok = put_rest(s, &form, &symbols);
    qdq_map_free(&symbols);
    QDQ_NEED(ok, err);
    make_hash(form.word, form.n_words, s->more.at, s->more.n, s->hash[group]);
    s->instance[group] =
        (qdq_key_instance){group, form.node, form.input, {around.hash[0], around.hash[1]}};
    return QDQ_OK;
}

/* The key of this hash that has the group; where the hash is the same and the graph is not, the
 * hash is hashed again. */
static qdq_status find_key(keyer *s, qdq_map *known, uint32_t group, qdq_error *err)
{
    for (;;) {
        bool is_new, nomem = false;
        qdq_map_value *v = qdq_map_put(known, s->hash[group], &is_new);
        QDQ_NEED(v != NULL, err);
        if (is_new) {
            v->num = group;
            s->k->of[group] = s->k->n++;
            return QDQ_OK;
        }
        uint32_t first = (uint32_t)v->num, n = s->f->at[group].n;
        if (s->f->at[first].n == n &&
            qdq_fusion_same(&s->instance[first], &s->instance[group], n, &s->scratch, &nomem)) {
            s->k->of[group] = s->k->of[first];
            return QDQ_OK;
        }
        QDQ_NEED(!nomem, err);
        uint64_t again[9] = {0};
        memcpy(again, s->hash[group], 64);
        make_hash(again, 8, NULL, 0, s->hash[group]);
    }
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
    if (st != QDQ_OK) {
        qdq_fusion_keys_free(*out);
        *out = NULL;
    }
    return st;
}

void qdq_fusion_keys_free(qdq_fusion_keys *k)
{
    if (k == NULL)
        return;
    qdq_arena_free(&k->arena);
    free(k);
}
