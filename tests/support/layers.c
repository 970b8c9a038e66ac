/* layers.c - see the header. */
#include "support/layers.h"

#include <math.h>
#include <stdlib.h>

#include "support/test.h"

static const char **split_nodes(qdq_arena *arena, char *text, size_t *n)
{
    const char **list = qdq_arena_array(arena, strlen(text) + 1, sizeof *list);

    assert_non_null(list);
    for (char *save = NULL, *at = strtok_r(text, "+", &save); at != NULL;
         at = strtok_r(NULL, "+", &save))
        list[(*n)++] = at;
    return list;
}

test_layers test_layers_of(const char *const *lines)
{
    test_layers l = {.n = 0};

    for (; lines[l.n] != NULL; l.n++) {
        assert_true(l.n < TEST_MAX_LAYERS);
        qdq_layer *g = &l.at[l.n];
        char *save = NULL, *text = qdq_arena_strdup(&l.arena, lines[l.n]);
        *g = (qdq_layer){.op = strtok_r(text, " ", &save),
                         .layer = "?",
                         .in_type = "f32",
                         .out_type = "f32",
                         .median_us = NAN,
                         .source = QDQ_LAYER_NONE};
        char *nodes = strtok_r(NULL, " ", &save);
        if (nodes != NULL && strcmp(nodes, "-") != 0) {
            g->node = split_nodes(&l.arena, nodes, &g->n_nodes);
            g->layer = g->node[0];
            g->source = QDQ_LAYER_EXACT;
        }
        for (char *w = strtok_r(NULL, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
            if (strcmp(w, "slice") == 0)
                g->source = QDQ_LAYER_SLICE;
            else if (strcmp(w, "conversion") == 0)
                g->conversion = true;
            else
                g->median_us = atof(w);
        }
    }
    return l;
}

void test_layers_free(test_layers *l)
{
    qdq_arena_free(&l->arena);
}

const char *test_fusions_text(const qdq_fusions *f)
{
    static char text[4000];
    qdq_arena scratch = QDQ_ARENA_INIT;

    text[0] = '\0';
    for (uint32_t k = 0; k < f->n; k++)
        for (uint32_t i = 0; i < f->at[k].n; i++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s",
                     i > 0   ? " "
                     : k > 0 ? " | "
                             : "",
                     qdq_node_label(f->at[k].node[i], &scratch));
        }
    qdq_arena_free(&scratch);
    return text;
}

bool test_is_in_part(const qdq_fusions *f, const qdq_model *part, const qdq_node *n)
{
    for (uint32_t i = 0; f->of[n->id] != QDQ_NO_FUSION && i < n->n_out; i++) {
        const qdq_value *v =
            n->out[i] != NULL ? qdq_graph_find(part->graph, n->out[i]->name) : NULL;
        if (v != NULL && v->producer != NULL)
            return true;
    }
    return false;
}

/* Whether a way leaves group k and comes back. */
static bool comes_back(const qdq_fusions *f, uint32_t k, bool *outside)
{
    const qdq_region_graph *g = &f->g;

    for (uint32_t p = 0; p < g->n; p++) {
        bool in = f->of[g->node[p]->id] == k, from_out = false, from_in = false;
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++) {
            from_out |= outside[g->source[e]];
            from_in |= f->of[g->node[g->source[e]]->id] == k;
        }
        if (in && from_out)
            return true;
        outside[p] = !in && (from_out || from_in);
    }
    return false;
}

void test_fusions_sound(const qdq_fusions *f)
{
    bool *outside = calloc((size_t)f->g.n + 1, sizeof *outside);
    uint32_t covered = 0, first = 0;

    assert_non_null(outside);
    for (uint32_t k = 0; k < f->n; k++) {
        assert_true(f->at[k].n > 0);
        for (uint32_t i = 0; i < f->at[k].n; i++) {
            const qdq_node *n = f->at[k].node[i];
            assert_int_equal(f->of[n->id], k);
            if (i > 0)
                assert_true(f->g.place[n->id] > f->g.place[f->at[k].node[i - 1]->id]);
        }
        uint32_t place = f->g.place[f->at[k].node[0]->id];
        assert_true(k == 0 || place > first);
        first = place;
        covered += f->at[k].n;
        assert_false(comes_back(f, k, outside));
    }
    assert_int_equal(covered, f->g.n);
    free(outside);
}
