/* What a plan says of nodes and edges, as it is drawn. */
#include "quant/report/plan_picture.h"

#include <math.h>

#include "quant/place/place.h"
#include "support/test.h"

static qdq_model *chain(void)
{
    return test_graph(__func__);
}

/* MatMul reads x as uint8 and its weight as int8; Softmax stays float. */
static qdq_plan *plan(void)
{
    qdq_plan *p = qdq_plan_new();
    qdq_plan_tensor x = {
        .tensor = "x", .qparam = {.type = QDQ_UINT8, .scale = 0.5f}, .rule = "matmul"};
    qdq_plan_weight w = {.tensor = "w", .type = QDQ_INT8, .rule = "matmul"};

    assert_non_null(p);
    assert_true(qdq_plan_add_edge(p, &x.consumers, "a/fc", 0));
    assert_true(qdq_plan_add_edge(p, &w.consumers, "a/fc", 1));
    assert_true(QDQ_PUSH(&p->arena, &p->tensors, x));
    assert_true(QDQ_PUSH(&p->arena, &p->weights, w));
    assert_true(QDQ_PUSH(&p->arena, &p->quantized, ((qdq_plan_node){"a/fc", "MatMul", false})));
    assert_true(QDQ_PUSH(&p->arena, &p->left_float,
                         ((qdq_plan_float){"b/sm", "Softmax", "no 8-bit kernel"})));
    return p;
}

typedef struct fixture {
    qdq_model *m;
    qdq_plan *p;
    qdq_arena arena;
    qdq_plan_picture x;
} fixture;

static void open_fixture(fixture *f)
{
    qdq_error err = QDQ_ERROR_INIT;

    *f = (fixture){.m = chain(), .p = plan()};
    assert_ok(qdq_model_infer_shapes(f->m, &err));
    assert_ok(qdq_plan_picture_make(f->m, f->p, NULL, &f->arena, &f->x, &err));
}

static void close_fixture(fixture *f)
{
    qdq_arena_free(&f->arena);
    qdq_plan_free(f->p);
    qdq_model_free(f->m);
}

TEST(nodes_have_formats_rules_and_reasons)
{
    fixture f;
    open_fixture(&f);
    const qdq_picture_node *n = f.x.picture.node;

    assert_int_equal(f.x.picture.n_nodes, 3);
    assert_string_equal(n[0].name, "a/fc");
    assert_int_equal(n[0].input, QDQ_FLOAT);
    assert_int_equal(n[0].chosen, QDQ_UINT8);
    assert_int_equal(n[0].weight, QDQ_INT8);
    assert_string_equal(n[0].why, "matmul");
    assert_int_equal(n[1].chosen, QDQ_FLOAT);
    assert_null(n[1].why);
    assert_string_equal(n[2].why, "no 8-bit kernel");
    assert_true(isnan(n[0].given_us));
    close_fixture(&f);
}

/* Both read what the first convolution gives, and its entry has the convolution's rule. */
TEST(an_add_of_a_residual_block_has_its_own_rule_and_not_that_of_the_convolution)
{
    const char *block = test_graph_text(__func__);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_model *m = test_model(block);
    qdq_plan *p = qdq_plan_new();
    qdq_target *t;
    qdq_plan_picture x;

    assert_ok(qdq_model_infer_shapes(m, &err));
    assert_ok(qdq_target_load(QDQ_SOURCE_DIR "/tests/data/ort_cpu_bare.json", &t, &err));
    assert_non_null(p);
    assert_ok(qdq_place(m, t, NULL, p, &err));
    assert_ok(qdq_plan_picture_make(m, p, t, &arena, &x, &err));
    assert_int_equal(x.picture.n_nodes, 3);
    assert_string_equal(x.picture.node[1].why, "conv");
    assert_string_equal(x.picture.node[2].name, "add");
    assert_int_equal(x.picture.node[2].chosen, QDQ_UINT8);
    assert_string_equal(x.picture.node[2].why, "add-of-8-bit");
    qdq_arena_free(&arena);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(edges_of_the_plan_carry_codes)
{
    fixture f;
    open_fixture(&f);
    const qdq_picture_edge *e = f.x.picture.edge;

    assert_int_equal(f.x.picture.n_edges, 4); /* into each node, and out of the graph; no weights */
    assert_int_equal(e[0].from, QDQ_PICTURE_OUTSIDE);
    assert_true(e[0].coded);
    assert_int_equal(e[0].format, QDQ_UINT8);
    assert_true(e[0].scale == 0.5);
    assert_int_equal(e[1].from, 0);
    assert_false(e[1].coded);
    assert_int_equal(e[3].to, QDQ_PICTURE_OUTSIDE);
    close_fixture(&f);
}

TEST(what_shares_a_layer_with_codes_is_drawn_as_codes)
{
    fixture f;
    open_fixture(&f);

    f.x.picture.node[0].block = f.x.picture.node[1].block = "layer 1";
    f.x.picture.node[2].block = "layer 2";
    assert_true(qdq_plan_picture_fuse(&f.x));
    assert_int_equal(f.x.picture.node[1].chosen, QDQ_UINT8);
    assert_int_equal(f.x.picture.node[2].chosen, QDQ_FLOAT);
    assert_true(f.x.picture.edge[1].coded); /* inside of the layer */
    assert_false(f.x.picture.edge[2].coded);
    close_fixture(&f);
}

TEST(estimates_add_up_to_a_hundred)
{
    fixture f;
    double all = 0;
    open_fixture(&f);

    qdq_plan_picture_estimate(&f.x);
    for (size_t i = 0; i < f.x.picture.n_nodes; i++)
        all += f.x.picture.node[i].given_us;
    assert_true(fabs(all - 100) < 1e-9);
    assert_true(f.x.picture.relative);
    assert_true(f.x.picture.node[0].chosen_us < f.x.picture.node[0].given_us);
    close_fixture(&f);
}

TEST(nodes_without_names_are_found_by_their_outputs)
{
    qdq_model *m = test_model("g (float x) => (float y) { t = Neg(x) [n] y = Neg(t) }");
    qdq_plan *p = qdq_plan_new();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_plan_picture x;

    assert_non_null(p);
    assert_ok(qdq_plan_picture_make(m, p, NULL, &arena, &x, &err));
    assert_string_equal(x.picture.node[0].key, "t");
    assert_string_equal(x.picture.node[1].key, "n");
    qdq_plan_picture_name(&x);
    assert_string_equal(x.picture.node[0].key, "Neg@t");
    qdq_arena_free(&arena);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(bodies_are_drawn_behind_their_node)
{
    qdq_model *m = test_graph(__func__);
    qdq_plan *p = qdq_plan_new();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_plan_picture x;

    assert_non_null(p);
    assert_true(
        QDQ_PUSH(&p->arena, &p->left_float, ((qdq_plan_float){"in", "MatMul", "too small"})));
    assert_ok(qdq_model_infer_shapes(m, &err));
    assert_ok(qdq_plan_picture_make(m, p, NULL, &arena, &x, &err));
    const qdq_picture_node *n = x.picture.node;
    static const struct {
        const char *name, *body;
        uint32_t within;
    } want[] = {{"fc", NULL, 0},           {"if", NULL, 0},
                {"in", "then_branch", 2},  {"loop", "else_branch", 2},
                {"Identity@d", "body", 4}, {"deep", "body", 4},
                {"last", NULL, 0}};

    assert_int_equal(x.picture.n_nodes, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(n[i].name, want[i].name);
        assert_int_equal(n[i].within, want[i].within);
        assert_int_equal(qdq_plan_picture_is_main(&x, i), want[i].within == 0);
        if (want[i].body != NULL)
            assert_string_equal(n[i].body, want[i].body);
    }
    assert_string_equal(n[2].why, "too small");
    bool captured = false; /* from the graph around */
    for (size_t i = 0; i < x.picture.n_edges; i++)
        captured = captured || (x.picture.edge[i].from == 0 && x.picture.edge[i].to == 2);
    assert_true(captured);

    /* the time of If is divided among what is in it */
    x.picture.node[1].given_us = x.picture.node[1].chosen_us = 10;
    assert_true(qdq_plan_picture_divide(&x, &arena));
    double sum = 0;
    for (size_t i = 1; i < 6; i++)
        sum += n[i].given_us;
    assert_true(fabs(sum - 10) < 1e-9);
    assert_true(n[5].given_us > 0 && isnan(n[6].given_us));
    qdq_arena_free(&arena);
    qdq_plan_free(p);
    qdq_model_free(m);
}
