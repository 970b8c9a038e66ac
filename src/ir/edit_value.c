/* edit_value.c - edits of values: names, uses, inputs, outputs, initializers. Knows no node but
 * through uses. */
#include "ir/edit.h"
#include "ir/name.h"
#include "ir/use.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* True if `text` names a live value of g, of a graph around it, or of one inside it. */
static bool is_taken(const qdq_graph *g, const char *text)
{
    const qdq_name *known = qdq_map_get_ptr(&g->model->names, text);
    uint32_t left;

    if (known == NULL || (left = known->n_value) == 0)
        return false;
    if (qdq_graph_resolve(g, known->text) != NULL)
        return true;
    /* Some graph has it: one inside g? `left` ends the search early on models with many
     * subgraphs. */
    QDQ_FOR_GRAPHS (other, g->model) {
        if (left == 0)
            return false;
        if (qdq_graph_find(other, known->text) == NULL)
            continue;
        left--;
        for (const qdq_graph *around = other; around->owner != NULL;) {
            around = around->owner->graph;
            if (around == g)
                return true;
        }
    }
    return false;
}

static bool is_had_by_some_value(const qdq_graph *g, const char *name)
{
    const qdq_name *known = qdq_map_get_ptr(&g->model->names, name);

    return known != NULL && known->n_value > 0;
}

static bool is_node_taken(const qdq_graph *g, const char *name)
{
    const qdq_name *known = qdq_map_get_ptr(&g->model->names, name);

    return known != NULL && known->n_node > 0;
}

/* The last suffix is remembered, so that n names of one base cost n tries, not n * n. */
static const char *first_free(qdq_graph *g, const char *base,
                              bool (*taken)(const qdq_graph *, const char *))
{
    qdq_model *m = g->model;
    const char *interned = qdq_intern(m, base);
    size_t size = strlen(base);
    char *text;

    if (interned == NULL)
        return NULL;
    if (base[0] != '\0' && !taken(g, interned))
        return interned;
    text = qdq_arena_alloc(&m->arena, size + 12);
    if (text == NULL)
        return NULL;
    for (qdq_name *name = qdq_name_of(interned); name->suffix < UINT32_MAX;) {
        snprintf(text, size + 12, "%s_%u", base, (unsigned)++name->suffix);
        if (!taken(g, text))
            return qdq_intern(m, text);
    }
    return NULL;
}

const char *qdq_graph_unique_name(qdq_graph *g, const char *base)
{
    return first_free(g, base, is_taken);
}

const char *qdq_graph_unique_node_name(qdq_graph *g, const char *base)
{
    return first_free(g, base, is_node_taken);
}

/* --- birth and death -------------------------------------------------------------------------- */

qdq_value *qdq_graph_add_value(qdq_graph *g, const char *name, const qdq_type *type)
{
    qdq_model *m = g->model;
    const char *interned = qdq_intern(m, name);
    qdq_value *v = qdq_arena_alloc(&m->arena, sizeof *v);
    qdq_map_value *place;
    bool is_new;

    if (interned == NULL || v == NULL || !QDQ_RESERVE(&m->arena, &g->values))
        return NULL;
    place = qdq_map_put_n(&g->by_name, interned, qdq_name_of(interned)->size, &is_new);
    assert(place == NULL || is_new);
    if (place == NULL || !is_new)
        return NULL;
    place->ptr = v;
    v->name = interned;
    v->id = (uint32_t)g->values.n;
    v->graph = g;
    v->type = type;
    g->values.at[g->values.n++] = v;
    qdq_name_of(interned)->n_value++;
    qdq_graph_touch(g);
    return v;
}

void qdq_value_kill(qdq_value *v)
{
    qdq_map_remove(&v->graph->by_name, v->name);
    qdq_name_of(v->name)->n_value--;
    v->dead = true;
}

void qdq_value_remove(qdq_value *v)
{
    assert(!v->dead && v->producer == NULL && v->n_use == 0 && v->n_output == 0);
    if (v->is_input)
        qdq_graph_remove_input(v->graph, v);
    qdq_value_kill(v);
    qdq_graph_touch(v->graph);
}

bool qdq_value_is_removable(const qdq_value *v)
{
    return !v->dead && v->n_use == 0 && v->n_output == 0 && v->producer == NULL && !v->is_input;
}

void qdq_value_remove_if_unused(qdq_value *v)
{
    if (qdq_value_is_removable(v))
        qdq_value_remove(v);
}

bool qdq_value_rename(qdq_value *v, const char *name)
{
    qdq_graph *g = v->graph;
    const char *interned = qdq_intern(g->model, name);
    qdq_map_value *place;
    bool is_new;

    if (interned == NULL)
        return false;
    if (interned == v->name)
        return true;
    place = qdq_map_put_n(&g->by_name, interned, qdq_name_of(interned)->size, &is_new);
    assert(place == NULL || is_new);
    if (place == NULL || !is_new)
        return false;
    place->ptr = v;
    qdq_map_remove(&g->by_name, v->name);
    qdq_name_of(v->name)->n_value--;
    qdq_name_of(interned)->n_value++;
    v->name = interned;
    if (v->init != NULL)
        v->init->name = interned;
    qdq_graph_touch(g);
    return true;
}

/* --- inputs and outputs ----------------------------------------------------------------------- */

qdq_value *qdq_graph_add_input(qdq_graph *g, const char *name, const qdq_type *type)
{
    qdq_value *v = qdq_graph_add_value(g, name, type);

    return v != NULL && qdq_graph_make_input(g, v) ? v : NULL;
}

bool qdq_graph_make_input(qdq_graph *g, qdq_value *v)
{
    assert(v->graph == g && v->producer == NULL);
    if (v->is_input)
        return true;
    if (!QDQ_PUSH(&g->model->arena, &g->inputs, v))
        return false;
    v->is_input = true;
    qdq_graph_touch(g);
    return true;
}

void qdq_graph_remove_input(qdq_graph *g, qdq_value *v)
{
    assert(v->graph == g && v->is_input);
    /* from behind: initializers are listed behind the real inputs */
    for (size_t i = g->inputs.n; i-- > 0;)
        if (g->inputs.at[i] == v) {
            QDQ_REMOVE_AT(&g->inputs, i);
            break;
        }
    v->is_input = false;
    qdq_graph_touch(g);
}

void qdq_graph_unlist_inits(qdq_graph *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->inputs.n; i++) {
        qdq_value *v = g->inputs.at[i];

        if (v->init == NULL && v->sparse == NULL)
            g->inputs.at[kept++] = v;
        else
            v->is_input = false;
    }
    if (kept == g->inputs.n)
        return;
    g->inputs.n = kept;
    qdq_graph_touch(g);
}

bool qdq_graph_add_output(qdq_graph *g, qdq_value *v)
{
    assert(v->graph == g && !v->dead);
    if (!QDQ_PUSH(&g->model->arena, &g->outputs, v))
        return false;
    v->n_output++;
    qdq_graph_touch(g);
    return true;
}

void qdq_graph_set_output(qdq_graph *g, size_t i, qdq_value *v)
{
    assert(i < g->outputs.n && v->graph == g && !v->dead);
    g->outputs.at[i]->n_output--;
    g->outputs.at[i] = v;
    v->n_output++;
    qdq_graph_touch(g);
}

void qdq_graph_remove_output(qdq_graph *g, size_t i)
{
    assert(i < g->outputs.n);
    g->outputs.at[i]->n_output--;
    QDQ_REMOVE_AT(&g->outputs, i);
    qdq_graph_touch(g);
}

void qdq_graph_set_rest(qdq_graph *g, qdq_span rest)
{
    g->unknown_fields = rest;
    qdq_graph_touch(g);
}

/* --- data and types --------------------------------------------------------------------------- */

qdq_value *qdq_graph_add_init(qdq_graph *g, const char *name, qdq_tensor *t)
{
    const qdq_type *type = qdq_type_fixed(g->model, t->elem, t->rank, t->dim);
    qdq_value *v = type == NULL ? NULL : qdq_graph_add_value(g, name, type);

    return v != NULL && qdq_value_set_init(v, t) ? v : NULL;
}

qdq_value *qdq_graph_add_constant(qdq_graph *g, qdq_node *before, const char *name, qdq_tensor *t)
{
    if (!qdq_graph_in_function(g))
        return qdq_graph_add_init(g, name, t);
    const qdq_type *type = qdq_type_fixed(g->model, t->elem, t->rank, t->dim);
    qdq_node *n =
        type != NULL ? qdq_graph_add_node(g, before, "", "Constant", "", 0, 1, &name) : NULL;

    if (n == NULL || !qdq_node_set_tensor(n, "value", t))
        return NULL;
    t->name = ""; /* the value has the name */
    qdq_value_set_type(n->out[0], type);
    return n->out[0];
}

/* Where v stands in the list of initializers. Cleared ones are rare, and mostly young. */
static void unlist_init(qdq_graph *g, const qdq_value *v)
{
    for (size_t i = g->inits.n; i-- > 0;)
        if (g->inits.at[i] == v) {
            QDQ_REMOVE_AT(&g->inits, i);
            return;
        }
}

bool qdq_value_set_init(qdq_value *v, qdq_tensor *t)
{
    qdq_graph *g = v->graph;
    bool listed = v->init != NULL || v->sparse != NULL;

    assert(!v->dead && v->producer == NULL);
    if (t == NULL) {
        if (listed)
            unlist_init(g, v);
    } else {
        if (!listed && !QDQ_PUSH(&g->model->arena, &g->inits, v))
            return false;
        t->name = v->name;
    }
    v->init = t;
    v->sparse = NULL;
    qdq_graph_touch(g);
    return true;
}

bool qdq_value_set_sparse(qdq_value *v, qdq_sparse *s)
{
    qdq_graph *g = v->graph;

    assert(!v->dead && v->producer == NULL && s != NULL);
    if (v->init == NULL && v->sparse == NULL && !QDQ_PUSH(&g->model->arena, &g->inits, v))
        return false;
    v->init = NULL;
    v->sparse = s;
    qdq_graph_touch(g);
    return true;
}

void qdq_value_set_type(qdq_value *v, const qdq_type *type)
{
    if (v->type == type)
        return;
    v->type = type;
    qdq_graph_touch(v->graph);
}

void qdq_value_detach(qdq_value *v)
{
    if (v->producer == NULL)
        return;
    v->producer->out[v->out_index] = NULL;
    v->producer = NULL;
    v->out_index = 0;
    qdq_graph_touch(v->graph);
}

/* --- uses ------------------------------------------------------------------------------------- */

/* The output keeps its name and its declared type: `to` becomes it, and `from` goes on under the
 * other name. */
static void take_over_output(qdq_value *from, qdq_value *to)
{
    qdq_graph *g = from->graph;
    qdq_map_value *place_from = qdq_map_get(&g->by_name, from->name);
    qdq_map_value *place_to = qdq_map_get(&g->by_name, to->name);
    const char *name = from->name;
    qdq_span rest = from->unknown_fields;

    assert(place_from != NULL && place_to != NULL);
    place_from->ptr = to;
    place_to->ptr = from;
    from->name = to->name;
    to->name = name;
    from->unknown_fields = to->unknown_fields;
    to->unknown_fields = rest;
    if (from->type != NULL)
        to->type = from->type;
    if (from->init != NULL)
        from->init->name = from->name;
    for (size_t i = 0; i < g->outputs.n && from->n_output > 0; i++)
        if (g->outputs.at[i] == from) {
            g->outputs.at[i] = to;
            from->n_output--;
            to->n_output++;
        }
}

bool qdq_value_replace(qdq_value *from, qdq_value *to)
{
    assert(!from->dead && !to->dead);
    if (from == to)
        return true;
    if (from->n_output > 0 &&
        (to->graph != from->graph || to->producer == NULL || to->is_input || to->init != NULL ||
         to->sparse != NULL || to->n_output > 0 || from->is_input))
        return false;
    if (from->n_output > 0)
        take_over_output(from, to);
    for (qdq_use *u = from->first; u != NULL; u = u->next) {
        u->value = to;
        if (u->node->graph != from->graph)
            qdq_graph_touch(u->node->graph);
    }
    if (from->first != NULL) { /* the lists are joined as they are, in order */
        from->first->prev = to->last;
        if (to->last != NULL)
            to->last->next = from->first;
        else
            to->first = from->first;
        to->last = from->last;
        to->n_use += from->n_use;
        from->first = from->last = NULL;
        from->n_use = 0;
    }
    qdq_graph_touch(from->graph);
    if (to->graph != from->graph)
        qdq_graph_touch(to->graph);
    return true;
}

qdq_value *qdq_value_lift(qdq_value *v, qdq_graph *to)
{
    /* Free but for v itself, or had by nothing: whether others are inside `to` is not worth a walk
     * over all graphs. */
    const char *name = qdq_name_of(v->name)->n_value == 1
                           ? v->name
                           : first_free(to, v->name, is_had_by_some_value);
    qdq_value *lifted = name == NULL ? NULL : qdq_graph_add_value(to, name, v->type);

    assert(v->producer == NULL && !v->is_input && v->n_output == 0);
    if (lifted == NULL)
        return NULL;
    lifted->unknown_fields = v->unknown_fields;
    lifted->has_info = v->has_info;
    if (v->sparse != NULL ? !qdq_value_set_sparse(lifted, v->sparse)
                          : !qdq_value_set_init(lifted, v->init))
        return NULL;
    qdq_value_replace(v, lifted);
    qdq_value_remove(v);
    return lifted;
}
