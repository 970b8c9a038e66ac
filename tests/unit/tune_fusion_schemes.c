/* tune_fusion_schemes.c - the schemes of one fusion group: which bits each has, and which are
 * listed. */
#include "tune/isolate/fusion_schemes.h"

#include "ir/graph_check.h"
#include "support/build.h"
#include "support/layers.h"
#include "support/spaced.h"
#include "tune/isolate/group_plan.h"

static qdq_error err;

/* thin has 32 output channels, wide 64: [K, N] = [64, 32] is thin, its first dim is not. */
static qdq_model *network(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "wide", "x", 64, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r", "wide");
    test_conv(&b, "thin", "r", 32, 64, 1, 1);
    test_conv(&b, "short", "x", 32, 16, 1, 1);
    TEST_NODE(&b, "Add", "a", "thin", "short");
    TEST_NODE(&b, "Softmax", "s", "a");
    TEST_NODE(&b, "GlobalAveragePool", "g", "r");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 64, 32);
    TEST_NODE(&b, "MatMul", "m", "f", "w");
    TEST_RANDOM(&b, "v", 100, 32);
    TEST_RANDOM(&b, "c", 100);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "m", "v", "c"), "transB", 1));
    test_output(&b, "s");
    test_output(&b, "y");
    return test_built(&b);
}

typedef struct setting {
    test_space t;
    test_layers layers;
    qdq_fusions *f;
    qdq_shape_range *range;
} setting;

static setting open_setting(const char *target, const char *const *layers)
{
    setting s = {.t = test_space_open(network(), target), .layers = test_layers_of(layers)};

    assert_ok(qdq_fusions_find(s.t.clean, s.layers.at, s.layers.n, NULL, &s.f, &err));
    assert_ok(qdq_shape_range_open(s.t.clean, NULL, &s.range, &err));
    return s;
}
#define SETTING(target, ...) open_setting((target), (const char *const[]){__VA_ARGS__, NULL})

static void put_away(setting *s)
{
    qdq_shape_range_close(s->range);
    qdq_fusions_free(s->f);
    test_layers_free(&s->layers);
    test_space_close(&s->t);
}

static uint32_t group_of(const setting *s, const char *output)
{
    return s->f->of[qdq_graph_find(s->t.clean->graph, output)->producer->id];
}

/* "name: parts" of each, lines. */
static void expect_schemes(setting *s, const char *output, const qdq_assign *allowed,
                           const char *want)
{
    char text[4000];
    size_t n = 0;
    qdq_fusion_schemes all;

    assert_ok(qdq_fusion_list_schemes(s->f, group_of(s, output), s->t.s, allowed, &s->t.arena, &all,
                                      &err));
    text[0] = '\0';
    for (size_t i = 0; i < all.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s:%s%s\n",
                              qdq_scheme_kind_names[all.at[i].kind],
                              qdq_assign_count(&all.at[i].bits) > 0 ? " " : "",
                              test_space_text(&s->t, &all.at[i].bits));
    assert_string_equal(text, want);
}

TEST(a_group_has_every_scheme_that_differs)
{
    setting s = SETTING("tensorrt", "a wide+r+thin+short+a", "b g+f+m+y", "c s");

    expect_schemes(&s, "wide", NULL,
                   "none:\n"
                   "full: wide:full thin:full short:full a:full\n"
                   "skip-small: wide:full a:full\n"
                   "weight-only: wide:weight thin:weight short:weight\n"
                   "activation-only: wide:activation thin:activation short:activation\n");
    expect_schemes(&s, "m", NULL,
                   "none:\n"
                   "full: g:full m:full y:full\n"
                   "skip-small: g:full y:full\n"
                   "weight-only: m:weight y:weight\n"
                   "activation-only: m:activation y:activation\n"); /* 32 columns, 100 rows */
    expect_schemes(&s, "s", NULL, "none:\n");
    put_away(&s);
}

/* 16 channels in, and an image's first Conv: the rules of ort-cpu leave that float. */
TEST(the_rules_are_listed_where_they_are_something_else)
{
    setting s = SETTING("ort-cpu", "a wide+r", "b thin+short+a", "c g", "d f+m+y");
    const uint32_t wide = test_space_group(&s.t, "wide"), m = test_space_group(&s.t, "m");

    qdq_assign_set(&s.t.s->rules, wide, true);
    expect_schemes(&s, "wide", NULL,
                   "none:\n"
                   "full: wide:full\n"
                   "weight-only: wide:weight\n"
                   "activation-only: wide:activation\n");
    qdq_assign_set(&s.t.s->rules, wide, false); /* none */
    expect_schemes(&s, "wide", NULL,
                   "none:\n"
                   "full: wide:full\n"
                   "weight-only: wide:weight\n"
                   "activation-only: wide:activation\n");
    qdq_assign_set(&s.t.s->rules, m, true);
    qdq_assign_set(&s.t.s->rules, test_space_group(&s.t, "y"), false);
    expect_schemes(&s, "m", NULL,
                   "none:\n"
                   "full: m:full y:full\n"
                   "rules: m:full\n"
                   "skip-small: y:full\n"
                   "weight-only: m:weight y:weight\n"
                   "activation-only: m:activation y:activation\n");
    put_away(&s);
}

/* "thin" and "short" have 32 channels each: nothing would be left; with "wide" alone nothing would
 * go. */
TEST(skip_small_is_listed_where_it_takes_some_and_leaves_some)
{
    setting s = SETTING("tensorrt", "a wide+r", "b thin+short+a", "c g+f+m+y");

    expect_schemes(&s, "thin", NULL,
                   "none:\n"
                   "full: thin:full short:full a:full\n"
                   "weight-only: thin:weight short:weight\n"
                   "activation-only: thin:activation short:activation\n");
    expect_schemes(&s, "wide", NULL,
                   "none:\n"
                   "full: wide:full\n"
                   "weight-only: wide:weight\n"
                   "activation-only: wide:activation\n");
    put_away(&s);
}

/* A ConvTranspose has [in, out / groups, ...]: 16 x 4 groups are 64 channels. */
TEST(channels_of_a_transposed_convolution_are_counted_over_its_groups)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_RANDOM(&b, "u", 16, 16, 1, 1);
    TEST_RANDOM(&b, "w", 64, 16, 1, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "ConvTranspose", "p", "x", "u"), "group", 4));
    TEST_NODE(&b, "ConvTranspose", "q", "p", "w");
    TEST_NODE(&b, "Softmax", "y", "q");
    test_output(&b, "y");
    setting s = {.t = test_space_open(test_built(&b), "tensorrt"),
                 .layers = TEST_LAYERS("a p+q", "b y")};
    assert_ok(qdq_fusions_find(s.t.clean, s.layers.at, s.layers.n, NULL, &s.f, &err));
    expect_schemes(&s, "p", NULL,
                   "none:\n"
                   "full: p:full q:full\n"
                   "skip-small: p:full\n"
                   "weight-only: p:weight q:weight\n"
                   "activation-only: p:activation q:activation\n");
    put_away(&s);
}

TEST(what_is_not_allowed_is_off_in_all_of_them)
{
    setting s = SETTING("tensorrt", "a wide+r+thin+short+a", "c g+f+m+y");
    qdq_assign allowed;

    assert_true(qdq_assign_new(&allowed, s.t.s->n_groups, &s.t.arena));
    expect_schemes(&s, "wide", &allowed, "none:\n");
    for (size_t i = 0; i < allowed.n; i++)
        qdq_assign_set(&allowed, i, true);
    qdq_assign_set(&allowed, test_space_group(&s.t, "wide"), false);
    expect_schemes(&s, "wide", &allowed,
                   "none:\n"
                   "full: thin:full short:full a:full\n"
                   "weight-only: thin:weight short:weight\n"
                   /* and nothing larger is left */
                   "activation-only: thin:activation short:activation\n");
    put_away(&s);
}

TEST(a_scheme_changes_the_bits_of_its_group_alone_and_the_last_one_counts)
{
    static const char *const layers[] = {"a wide+r+thin+short+a", "b g+f+m+y", NULL};

    setting s = open_setting("tensorrt", layers);
    qdq_assign a = test_space_parts(&s.t, ""), before;

    for (unsigned first = 0; first < QDQ_SCHEME_COUNT; first++)
        for (unsigned second = 0; second < QDQ_SCHEME_COUNT; second++) {
            qdq_assign alone = test_space_parts(&s.t, "m:weight y:full");

            qdq_fusion_set_scheme(s.f, group_of(&s, "m"), s.t.s, NULL, QDQ_SCHEME_NONE, &a);
            qdq_space_set_part(s.t.s, &a, test_space_group(&s.t, "m"), QDQ_PART_WEIGHT);
            qdq_space_set_part(s.t.s, &a, test_space_group(&s.t, "y"), QDQ_PART_FULL);
            qdq_fusion_set_scheme(s.f, group_of(&s, "wide"), s.t.s, NULL, (qdq_scheme_kind)first,
                                  &a);
            qdq_fusion_set_scheme(s.f, group_of(&s, "wide"), s.t.s, NULL, (qdq_scheme_kind)second,
                                  &a);
            qdq_fusion_set_scheme(s.f, group_of(&s, "wide"), s.t.s, NULL, (qdq_scheme_kind)second,
                                  &alone);
            assert_true(qdq_assign_equal(&a, &alone));
            assert_true(qdq_assign_copy(&before, &a, &s.t.arena));
            qdq_fusion_set_scheme(s.f, group_of(&s, "wide"), s.t.s, NULL, (qdq_scheme_kind)second,
                                  &a);
            assert_true(qdq_assign_equal(&a, &before));
        }
    put_away(&s);
}

static const qdq_node *find_node(const qdq_model *m, const char *name)
{
    QDQ_FOR_NODES (n, m->graph)
        if (n->name != NULL && strcmp(n->name, name) == 0)
            return n;
    fail_msg("no node is called '%s'", name);
    return NULL;
}

static bool reads_codes(const qdq_node *n, uint32_t input)
{
    const qdq_value *v = qdq_node_in(n, input);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* Edge by edge: the group as a model of its own has the codes that it has in the whole one. */
static void expect_the_same_alone(setting *s, uint32_t group, const qdq_plan *p,
                                  const qdq_model *whole)
{
    qdq_group_model_opts opts = {.halo = true, .range = s->range};
    qdq_group_model *g;
    qdq_model *part;

    assert_ok(qdq_group_model_make(s->f, group, &opts, &g, &err));
    assert_string_equal(g->why, "");
    assert_ok(qdq_group_plan_apply(s->f, group, g, p, NULL, &part, &err));
    assert_ok(qdq_model_verify(part, &err));
    for (uint32_t i = 0; i < s->f->at[group].n; i++) {
        const char *name = s->f->at[group].node[i]->name;
        const qdq_node *a = find_node(part, name), *b = find_node(whole, name);

        assert_int_equal(a->n_in, b->n_in);
        for (uint32_t k = 0; k < a->n_in; k++)
            if (reads_codes(a, k) != reads_codes(b, k))
                fail_msg("%s, input %u: not alike alone and in the whole model", name, (unsigned)k);
    }
    qdq_model_free(part);
    qdq_group_model_free(g);
}

/* For the scheme of a group: in the whole model its own operators alone have codes, and alone it
 * has the same. */
TEST(a_scheme_is_the_same_alone_and_in_the_whole_model)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt", "openvino"};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        setting s = SETTING(targets[i], "a wide+r+thin", "b short+a", "c g+f+m", "d y");

        for (uint32_t g = 0; g < s.f->n; g++) {
            qdq_fusion_schemes all;

            assert_ok(qdq_fusion_list_schemes(s.f, g, s.t.s, NULL, &s.t.arena, &all, &err));
            assert_int_equal(all.at[0].kind, QDQ_SCHEME_NONE);
            for (size_t k = 0; k < all.n; k++) {
                qdq_plan *p = test_space_plan(&s.t, &all.at[k].bits);
                qdq_model *m = test_space_applied(&s.t, p);

                assert_int_equal(p->tensors.n + p->weights.n > 0, k > 0);
                for (size_t w = 0; w < p->weights.n; w++)
                    assert_int_equal(group_of(&s, p->weights.at[w].consumers.at[0].node), g);
                expect_the_same_alone(&s, g, p, m);
                qdq_model_free(m);
                qdq_plan_free(p);
            }
        }
        put_away(&s);
    }
}
