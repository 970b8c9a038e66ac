/* tune_bench_model.c - several isolated groups as one model: nothing collides, weights are shared,
 * every node has a name, and an engine runs it. */
#include "tune/isolate/bench_model.h"

#include <sys/stat.h>

#include "ir/graph_check.h"
#include "support/isolated.h"
#include "support/test.h"
#include "tune/space/candidates.h"

static qdq_error err;

enum { MAX_PARTS = 24 };

typedef struct made {
    qdq_group_model *g[MAX_PARTS];
    uint32_t n;
    qdq_parts *p;
} made;

static void add_part(made *x, const test_isolated *s, uint32_t group, const qdq_plan *plan,
                     qdq_insert_cache *cache)
{
    if (x->p == NULL)
        assert_ok(qdq_parts_new(s->f, &x->p, &err));
    x->g[x->n] = test_isolated_group(s, group);
    assert_ok(qdq_parts_join(x->p, group, x->g[x->n++], plan, cache, &err));
}

/* Lets go of what they were made from. */
static void join(made *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        qdq_group_model_free(x->g[i]);
    assert_ok(qdq_model_verify(x->p->model, &err));
}

static uint32_t group_of(const test_isolated *s, const char *output)
{
    return s->f->of[qdq_graph_find(s->clean->graph, output)->producer->id];
}

/* --- parts ------------------------------------------------------------------------------------ */

TEST(all_groups_are_one_model_that_runs)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_plan *all = test_isolated_plan(&s);

    for (int with = 0; with < 2; with++) {
        qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
        qdq_session *session;
        qdq_layer *layer;
        size_t n;
        made x = {.p = test_isolated_parts(&s, with != 0 ? all : NULL, NULL)};
        assert_ok(qdq_model_verify(x.p->model, &err));
        assert_int_equal(x.p->shape.n, 0);
        QDQ_FOR_NODES (node, x.p->model->graph)
            assert_string_not_equal(node->name, "");
        opts.layers = true;
        assert_ok(qdq_session_open(s.engine, x.p->model, &opts, &session, &err));
        assert_ok(qdq_session_layers(session, NULL, 0, 0, &layer, &n, &err));
        assert_true(n >= s.f->n);
        qdq_free(layer);
        qdq_session_close(session);
        qdq_parts_free(x.p);
    }
    qdq_plan_free(all);
    test_isolated_free(&s);
}

TEST(a_group_may_occur_more_than_once)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_plan *all = test_isolated_plan(&s);
    const uint32_t group = group_of(&s, "flat");
    char name[100];
    made x = {0};

    add_part(&x, &s, group, all, NULL);
    add_part(&x, &s, group, NULL, NULL);
    join(&x);
    snprintf(name, sizeof name, "g%u/flat_QuantizeLinear_Output", (unsigned)group);
    assert_non_null(qdq_graph_find(x.p->model->graph, name));
    snprintf(name, sizeof name, "g%u.1/flat", (unsigned)group);
    assert_non_null(qdq_graph_find(x.p->model->graph, name));
    snprintf(name, sizeof name, "g%u.1/flat_QuantizeLinear_Output", (unsigned)group);
    assert_null(qdq_graph_find(x.p->model->graph, name));
    snprintf(name, sizeof name, "g%u.1/", (unsigned)group);
    assert_int_equal(qdq_map_get(&x.p->prefixes, name)->num, 1);
    assert_int_equal(x.p->group.at[1], group);
    qdq_parts_free(x.p);
    qdq_plan_free(all);
    test_isolated_free(&s);
}

TEST(weights_are_shared)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    made x = {0};

    add_part(&x, &s, group_of(&s, "stem"), NULL, NULL);
    join(&x);
    assert_ptr_equal(qdq_graph_find(x.p->model->graph, "g0/stem.w")->init->bytes.data,
                     qdq_graph_find(s.clean->graph, "stem.w")->init->bytes.data);
    test_isolated_free(&s); /* the parts hold them */
    assert_ok(qdq_model_verify(x.p->model, &err));
    qdq_parts_free(x.p);
}

/* --- shapes ----------------------------------------------------------------------------------- */

TEST(open_dims_have_the_usual_shapes_of_their_parts)
{
    test_isolated s = test_isolate(test_isolated_network(0), NULL);
    const uint32_t group = group_of(&s, "sum");
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_session *session;
    char name[40];
    made x = {0};

    for (uint32_t i = 0; i < s.f->n; i++)
        add_part(&x, &s, i, NULL, NULL);
    join(&x);
    for (size_t i = 0; i < x.p->shape.n; i++) {
        assert_int_equal(x.p->shape.at[i].dim[0], 2);
        assert_true(qdq_graph_find(x.p->model->graph, x.p->shape.at[i].name)->is_input);
    }
    assert_int_equal(x.p->shape.n, x.p->model->graph->inputs.n);
    snprintf(name, sizeof name, "g%u/flat", (unsigned)group);
    const qdq_value *flat = qdq_graph_find(x.p->model->graph, name);
    snprintf(name, sizeof name, "g%u/N", (unsigned)group);
    if (flat->is_input)
        assert_string_equal(flat->type->dim[0].param, name);
    opts.shapes = x.p->shape.at;
    opts.n_shapes = x.p->shape.n;
    assert_ok(qdq_session_open(s.engine, x.p->model, &opts, &session, &err));
    qdq_session_close(session);
    qdq_parts_free(x.p);
    test_isolated_free(&s);
}

TEST(a_part_of_unknown_shape_is_refused)
{
    test_isolated s = test_isolate(test_isolated_network(0), NULL);
    qdq_group_model *g = test_isolated_group(&s, 0);
    qdq_parts *p;

    assert_ok(qdq_parts_new(s.f, &p, &err));
    g->input[0].dims.dim[QDQ_SHAPE_OPT][0] = -1;
    assert_fails(QDQ_E_USAGE, "the usual shape of input 'x' is not known",
                 qdq_parts_join(p, 0, g, NULL, NULL, &err));
    qdq_parts_free(p);
    qdq_group_model_free(g);
    test_isolated_free(&s);
}

/* --- files ------------------------------------------------------------------------------------ */

TEST(parts_are_written_beside_the_weights_of_candidates)
{
    const char *folder = test_path("parts"), *path = test_path("parts/some.onnx");
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_plan *all = test_isolated_plan(&s);
    qdq_candidates *c;
    qdq_model *read;
    made x = {0};

    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(qdq_candidates_open(folder, s.clean, NULL, &c, &err));
    for (uint32_t i = 0; i < s.f->n; i++) {
        add_part(&x, &s, i, NULL, NULL);
        add_part(&x, &s, i, all, qdq_candidates_cache(c));
    }
    join(&x);
    assert_ok(qdq_candidate_write_part(c, x.p->model, "some.onnx", &err));
    assert_ok(qdq_model_load(path, NULL, &read, &err));
    const qdq_tensor *codes = qdq_graph_find(read->graph, "g0.1/stem.w_quantized")->init;
    assert_false(codes->external); /* 216 bytes are not worth a reference */
    size_t large = 0;
    QDQ_FOR_INITS(v, read->graph)
    {
        size_t size;
        assert_true(qdq_elem_bytes(v->init->elem, v->init->count, &size));
        assert_int_equal(v->init->external, size >= 1024);
        large += size >= 1024;
    }
    assert_true(large >= 4);
    qdq_model_free(read);
    qdq_parts_free(x.p);
    qdq_candidates_close(c);
    qdq_plan_free(all);
    test_isolated_free(&s);
}
