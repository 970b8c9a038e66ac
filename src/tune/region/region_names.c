/* region_names.c - regions by the modules of the program that a model was exported from, as they
 * are in the names of nodes:
 * "/encoder/layer.0/attn/q_proj/MatMul" is a node of the module "/encoder/layer.0/attn/q_proj". */
#include "tune/region/region_build.h"

#include <string.h>

#include "base/fail.h"

/* Deeper modules count as part of the last. */
enum { MAX_DEPTH = 48 };

typedef struct module module;
struct module {
    const char *path;
    module *parent;
    unsigned depth;
    /* nodes of this module and of no module in it */
    qdq_places direct;
    uint32_t n_total;
    /* regions of it */
    qdq_region_list made;
};

typedef struct namer {
    qdq_rb *b;
    qdq_map by_path;
    /* parents first */
    QDQ_VEC(module *) modules;
    /* by place */
    module **of;
    /* by place */
    qdq_region **leaf;
    /* of the module around all others */
    qdq_region *whole;
} namer;

/* --- modules ---------------------------------------------------------------------------------- */

static module *module_at(namer *s, const char *path, size_t size, module *parent)
{
    bool is_new;
    qdq_map_value *v = qdq_map_put_n(&s->by_path, path, size, &is_new);

    if (v == NULL)
        return NULL;
    if (!is_new)
        return v->ptr;
    module *m = qdq_arena_alloc(&s->b->scratch, sizeof *m);
    if (m == NULL || (m->path = qdq_arena_strndup(s->b->arena, path, size)) == NULL)
        return NULL;
    qdq_map_set_key(v, m->path);
    m->parent = parent;
    m->depth = parent != NULL ? parent->depth + 1 : 0;
    v->ptr = m;
    return QDQ_PUSH(&s->b->scratch, &s->modules, m) ? m : NULL;
}

/* The name without empty parts and without its last part, unless that is the only one:
 * "/a//fc/MatMul" -> "/a/fc". Writes the path into `path`, which has room for the name and a '/'.
 * 0: it has no name. */
static size_t path_of(const char *name, char *path)
{
    size_t size = 0, last = 0, parts = 0;

    while (*name != '\0') {
        size_t part = strcspn(name, "/");
        if (part > 0) {
            last = size;
            path[size++] = '/';
            memcpy(path + size, name, part);
            size += part;
            parts++;
        }
        name += part;
        name += *name == '/';
    }
    return parts > 1 ? last : size;
}

static module *make_modules(namer *s, const char *path, size_t size)
{
    module *m = s->modules.at[0];
    size_t end = 0;

    for (unsigned depth = 0; m != NULL && end < size && depth < MAX_DEPTH; depth++) {
        const char *slash = memchr(path + end + 1, '/', size - end - 1);
        end = slash != NULL ? (size_t)(slash - path) : size;
        m = module_at(s, path, end, m);
    }
    return m;
}

static module *common_module(module *a, module *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

/* A node without a name, as optimizers make them, is in the module that all nodes around it are in,
 * as far as that is known; NULL: there is none. */
static module *module_around(const namer *s, uint32_t place)
{
    const qdq_region_graph *g = &s->b->g;
    module *m = NULL;

    for (uint32_t e = g->first_source[place]; e < g->first_source[place + 1]; e++)
        m = common_module(m, s->of[g->source[e]]);
    for (uint32_t e = g->first_reader[place]; e < g->first_reader[place + 1]; e++)
        m = common_module(m, s->of[g->reader[e]]);
    return m != NULL && m->depth > 0 ? m : NULL;
}

static qdq_status register_nodes(namer *s, char *path, qdq_error *err)
{
    static const char nowhere[] = "/_misc_";
    const qdq_region_graph *g = &s->b->g;

    for (uint32_t i = 0; i < g->n; i++) {
        size_t size = path_of(g->node[i]->name, path);
        if (size > 0 && (s->of[i] = make_modules(s, path, size)) == NULL)
            return qdq_nomem(err);
    }
    for (uint32_t i = 0; i < g->n; i++) {
        if (s->of[i] == NULL)
            s->of[i] = module_around(s, i);
        if (s->of[i] == NULL)
            s->of[i] = make_modules(s, nowhere, strlen(nowhere));
        QDQ_NEED(s->of[i] != NULL && QDQ_PUSH(&s->b->scratch, &s->of[i]->direct, i), err);
    }
    return QDQ_OK;
}

static qdq_status find_modules(namer *s, qdq_error *err)
{
    const qdq_region_graph *g = &s->b->g;
    size_t longest = 2;

    for (uint32_t i = 0; i < g->n; i++)
        if (strlen(g->node[i]->name) + 2 > longest)
            longest = strlen(g->node[i]->name) + 2;
    char *path = qdq_arena_alloc(&s->b->scratch, longest);
    QDQ_NEED(path != NULL && module_at(s, "", 0, NULL) != NULL, err);
    QDQ_TRY(register_nodes(s, path, err));
    for (size_t i = s->modules.n; i-- > 0;) {
        module *m = s->modules.at[i];
        m->n_total += (uint32_t)m->direct.n;
        if (m->parent != NULL)
            m->parent->n_total += m->n_total;
    }
    return QDQ_OK;
}

/* --- regions of modules ----------------------------------------------------------------------- */

static unsigned kernels_of(const qdq_region *r)
{
    unsigned n = 0;

    for (size_t i = 0; i < r->nodes.n; i++)
        n += qdq_region_is_backbone(r->nodes.at[i]);
    return n;
}

/* The leaf among the regions of this module that alone reads r; NULL: none does. */
static qdq_region *only_reader(const namer *s, const qdq_region *r)
{
    const qdq_region_graph *g = &s->b->g;
    qdq_region *only = NULL;

    for (size_t i = 0; i < r->nodes.n; i++) {
        uint32_t at = g->place[r->nodes.at[i]->id];
        for (uint32_t e = g->first_reader[at]; e < g->first_reader[at + 1]; e++) {
            qdq_region *reader = s->leaf[g->reader[e]];
            if (reader == r)
                continue;
            if (reader == NULL || (only != NULL && reader != only))
                return NULL;
            only = reader;
        }
    }
    return only;
}

/* r and the leaf that reads it become one, in place of the reader; the path is what both have in
 * common. */
static qdq_status join_leaves(namer *s, qdq_region *r, qdq_region *reader, const char *path,
                              qdq_error *err)
{
    qdq_places nodes = {0};
    qdq_region *joined;

    for (const qdq_region *from = r; from != NULL; from = from == r ? reader : NULL)
        for (size_t i = 0; i < from->nodes.n; i++)
            QDQ_NEED(QDQ_PUSH(&s->b->scratch, &nodes, s->b->g.place[from->nodes.at[i]->id]), err);
    QDQ_TRY(qdq_region_leaf(s->b, &nodes, path, &joined, err));
    *reader = *joined;
    for (size_t i = 0; i < nodes.n; i++)
        s->leaf[nodes.at[i]] = reader;
    r->nodes.n = 0;
    return QDQ_OK;
}

/* Neighbouring leaves of one module, while they are small. */
static qdq_status join_neighbours(namer *s, module *m, qdq_error *err)
{
    size_t kept = 0;

    QDQ_TRY(qdq_region_sort(s->b, &m->made, err));
    for (size_t i = 0; i < m->made.n; i++)
        for (size_t k = 0; k < m->made.at[i]->nodes.n; k++)
            s->leaf[s->b->g.place[m->made.at[i]->nodes.at[k]->id]] = m->made.at[i];
    for (size_t i = 0; i < m->made.n; i++) {
        qdq_region *r = m->made.at[i], *reader = r->children.n == 0 ? only_reader(s, r) : NULL;
        if (reader != NULL && r->n_total + reader->n_total <= s->b->max_size &&
            kernels_of(r) + kernels_of(reader) <= QDQ_REGION_KERNELS)
            QDQ_TRY(join_leaves(s, r, reader, m->path, err));
    }
    for (size_t i = 0; i < m->made.n; i++) {
        qdq_region *r = m->made.at[i];
        for (size_t k = 0; k < r->nodes.n; k++)
            s->leaf[s->b->g.place[r->nodes.at[k]->id]] = NULL;
        if (r->children.n > 0 || r->nodes.n > 0)
            m->made.at[kept++] = r;
    }
    m->made.n = kept;
    return QDQ_OK;
}

static qdq_status hand_up(namer *s, const module *m, qdq_region *r, qdq_error *err)
{
    if (m->parent == NULL)
        s->whole = r;
    else if (!QDQ_PUSH(s->b->arena, &m->parent->made, r))
        return qdq_nomem(err);
    return QDQ_OK;
}

/* All its modules are made. A small module is one leaf: what is in it goes up as plain nodes. */
static qdq_status make_module(namer *s, module *m, qdq_error *err)
{
    qdq_region *r = NULL;

    if (m->n_total < s->b->min_refine) {
        qdq_region_list made = m->made;
        for (size_t i = 0; i < made.n; i++)
            for (size_t k = 0; k < made.at[i]->nodes.n; k++)
                QDQ_NEED(QDQ_PUSH(&s->b->scratch, &m->direct,
                                  s->b->g.place[made.at[i]->nodes.at[k]->id]),
                         err);
        m->made.n = 0;
        if (m->direct.n == 0)
            return QDQ_OK;
        QDQ_TRY(qdq_region_leaf(s->b, &m->direct, m->path, &r, err));
    } else if (m->made.n == 0) {
        QDQ_TRY(qdq_region_refine(s->b, &m->direct, m->path, &r, err));
    } else {
        const char *inner = qdq_arena_printf(s->b->arena, "%s/__direct__", m->path);
        QDQ_NEED(inner != NULL, err);
        if (m->direct.n > 0)
            QDQ_TRY(qdq_region_leaves(s->b, &m->direct, inner, &m->made, err));
        QDQ_TRY(join_neighbours(s, m, err));
        if (m->made.n == 1)
            r = m->made.at[0];
        else
            QDQ_TRY(qdq_region_composite(s->b, &m->made, m->path, &r, err));
    }
    return hand_up(s, m, r, err);
}

/* A whole that has parts stands for them. */
static qdq_status make_regions(namer *s, qdq_region_list *top, qdq_error *err)
{
    for (size_t i = s->modules.n; i-- > 0;)
        QDQ_TRY(make_module(s, s->modules.at[i], err));
    if (s->whole == NULL)
        return QDQ_OK;
    if (s->whole->children.n > 0) {
        *top = s->whole->children;
        return QDQ_OK;
    }
    return QDQ_PUSH(s->b->arena, top, s->whole) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_regions_by_names(qdq_rb *b, qdq_region_list *top, qdq_error *err)
{
    namer s = {.b = b};
    qdq_status st = QDQ_OK;

    s.leaf = qdq_arena_array(&b->scratch, (size_t)b->g.n + 1, sizeof(qdq_region *));
    s.of = qdq_arena_array(&b->scratch, (size_t)b->g.n + 1, sizeof(module *));
    st = s.leaf == NULL || s.of == NULL ? qdq_nomem(err) : find_modules(&s, err);
    if (st == QDQ_OK)
        st = make_regions(&s, top, err);
    qdq_map_free(&s.by_path);
    return st;
}
