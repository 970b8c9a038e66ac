/* pattern.c - patterns and their texts. Texts are made from the leaves up: that of a composite is
 * put together from those of its children. */
#include "tune/region/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/sha256.h"
#include "tune/region/canon.h"
#include "tune/region/signature.h"

typedef struct matcher {
    const qdq_regions *all;
    /* of what stays */
    qdq_arena *arena;
    qdq_arena scratch;
    qdq_canon *canon;
    /* by region id */
    const char **text;
} matcher;

/* --- texts ------------------------------------------------------------------------------------ */

const qdq_region **qdq_region_sorted_children(const qdq_region *r, qdq_arena *scratch)
{
    const qdq_region **out =
        qdq_arena_array(scratch, r->children.n + 1, sizeof(const qdq_region *));
    uint32_t *order = qdq_arena_array(scratch, r->n_total + 2, sizeof *order);

    if (out == NULL || order == NULL)
        return NULL;
    for (size_t i = 0; i < r->children.n; i++)
        order[r->children.at[i]->n_total + 1]++;
    for (size_t i = 0; i < r->n_total; i++)
        order[i + 1] += order[i];
    for (size_t i = 0; i < r->children.n; i++)
        out[order[r->children.at[i]->n_total]++] = r->children.at[i];
    return out;
}

static bool put_nodes(matcher *s, qdq_buf *b, const qdq_region *r, const qdq_canon_form *form)
{
    const char *between = "";

    for (size_t i = 0; i < form->n; i++) {
        if (s->all->of[form->node[i]->id] != r)
            continue;
        qdq_buf_puts(b, between);
        qdq_buf_puts(b, qdq_canon_head(s->canon, form->node[i]));
        if (!qdq_signature_sources(b, s->all, r, form->node[i], &s->scratch))
            return false;
        between = "->";
    }
    return true;
}

static bool put_region(matcher *s, qdq_buf *b, const qdq_region *r, const qdq_canon_form *form)
{
    const qdq_region **child = qdq_region_sorted_children(r, &s->scratch);

    if (child == NULL)
        return false;
    if (r->nodes.n == 0 && r->children.n == 0)
        qdq_buf_puts(b, "EMPTY");
    if (r->children.n > 0)
        qdq_buf_puts(b, "COMPOSITE(");
    if (!put_nodes(s, b, r, form))
        return false;
    if (r->nodes.n > 0 && r->children.n > 0)
        qdq_buf_putc(b, '|');
    for (size_t i = 0; i < r->children.n; i++) {
        if (i > 0)
            qdq_buf_putc(b, '+');
        qdq_buf_puts(b, s->text[child[i]->id]);
    }
    if (r->children.n > 0)
        qdq_buf_putc(b, ')');
    return !b->failed;
}

/* The texts of its children are there. */
static qdq_status make_text(matcher *s, const qdq_region *r, const qdq_canon_form *form,
                            qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    if (put_region(s, &b, r, form))
        s->text[r->id] = qdq_arena_strndup(&s->scratch, b.data, b.size);
    qdq_buf_free(&b);
    return s->text[r->id] != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- patterns --------------------------------------------------------------------------------- */

/* The nodes of the region itself, in canonical order. */
static qdq_status make_instance(matcher *s, const qdq_region *r, const qdq_canon_form *form,
                                qdq_instance *out, qdq_error *err)
{
    size_t n = 0;

    out->region = r;
    out->inner = form->node;
    out->inner_input = form->input;
    out->node = qdq_arena_array(s->arena, r->nodes.n + 1, sizeof(const qdq_node *));
    out->input = qdq_arena_array(s->arena, r->nodes.n + 1, sizeof(uint32_t *));
    QDQ_NEED(out->node != NULL && out->input != NULL, err);
    for (size_t i = 0; i < form->n; i++) {
        if (s->all->of[form->node[i]->id] != r)
            continue;
        out->node[n] = form->node[i];
        out->input[n++] = form->input[i];
    }
    return QDQ_OK;
}

static qdq_status begin_pattern(matcher *s, const qdq_region *r, const qdq_canon_form *form,
                                qdq_pattern *out, qdq_error *err)
{
    out->signature = qdq_arena_strdup(s->arena, s->text[r->id]);
    QDQ_NEED(out->signature != NULL, err);
    qdq_sha256_name(out->signature, out->hash);
    memcpy(out->canon, form->hash, sizeof out->canon);
    out->n_nodes = r->nodes.n;
    return QDQ_OK;
}

/* Which pattern each region has, numbered by first instances; how many instances each pattern
 * has. */
static qdq_status number_patterns(qdq_regions *r, const qdq_canon_form *form, qdq_map *known,
                                  size_t *n, qdq_error *err)
{
    for (size_t i = 0; i < r->all.n; i++) {
        bool is_new;
        qdq_map_value *v =
            qdq_map_put_n(known, (const char *)form[i].hash, sizeof form[i].hash, &is_new);
        QDQ_NEED(v != NULL, err);
        if (is_new)
            v->num = (*n)++;
        r->all.at[i]->pattern = (uint32_t)v->num;
    }
    return QDQ_OK;
}

static qdq_status collect_patterns(matcher *s, qdq_regions *r, const qdq_canon_form *form,
                                   qdq_patterns *p, qdq_error *err)
{
    qdq_map known = QDQ_MAP_INIT;
    qdq_status st = number_patterns(r, form, &known, &p->n, err);

    qdq_map_free(&known);
    if (st != QDQ_OK)
        return st;
    p->pattern = qdq_arena_array(s->arena, p->n + 1, sizeof *p->pattern);
    QDQ_NEED(p->pattern != NULL, err);
    for (size_t i = 0; i < r->all.n; i++)
        p->pattern[r->all.at[i]->pattern].n_instances++;
    for (size_t i = 0; i < p->n; i++) {
        p->pattern[i].instance =
            qdq_arena_array(s->arena, p->pattern[i].n_instances, sizeof *p->pattern[i].instance);
        QDQ_NEED(p->pattern[i].instance != NULL, err);
        p->pattern[i].n_instances = 0;
    }
    for (size_t i = 0; i < r->all.n; i++) {
        qdq_pattern *at = &p->pattern[r->all.at[i]->pattern];
        if (at->n_instances == 0)
            QDQ_TRY(begin_pattern(s, r->all.at[i], &form[i], at, err));
        QDQ_TRY(make_instance(s, r->all.at[i], &form[i], &at->instance[at->n_instances++], err));
    }
    return QDQ_OK;
}

static qdq_status find_patterns(matcher *s, qdq_regions *r, qdq_patterns *p, qdq_error *err)
{
    qdq_canon_form *form = qdq_arena_array(&s->scratch, r->all.n + 1, sizeof *form);

    s->text = qdq_arena_array(&s->scratch, r->all.n + 1, sizeof(const char *));
    QDQ_NEED(form != NULL && s->text != NULL, err);
    QDQ_TRY(qdq_canon_new(r, &s->scratch, &s->canon, err));
    for (size_t i = r->all.n; i-- > 0;) {
        QDQ_TRY(qdq_canon_region(s->canon, r->all.at[i], s->arena, &form[i], err));
        QDQ_TRY(make_text(s, r->all.at[i], &form[i], err));
    }
    return collect_patterns(s, r, form, p, err);
}

qdq_status qdq_patterns_find(qdq_regions *r, qdq_patterns **out, qdq_error *err)
{
    qdq_patterns *p = calloc(1, sizeof *p);

    *out = NULL;
    QDQ_NEED(p != NULL, err);
    matcher s = {.all = r, .arena = &p->arena};
    qdq_status st = find_patterns(&s, r, p, err);
    qdq_arena_free(&s.scratch);
    return QDQ_HAND_OVER(p, st, out, qdq_patterns_free);
}

void qdq_patterns_free(qdq_patterns *p)
{
    if (p == NULL)
        return;
    qdq_arena_free(&p->arena);
    free(p);
}
