/* tune_group_model.c - groups as models of their own: boundaries, constants, shapes, halos, and
 * what cannot be one. */
#include "tune/extract/group_model.h"

#include "ir/shape.h"
#include "support/blocks.h"
#include "support/layers.h"
#include "support/test.h"

static qdq_error err;

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"
#define W4   "float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}"

typedef struct part {
    qdq_model *m;
    qdq_fusions *f;
    qdq_shape_range *range;
    qdq_group_model *g;
} part;

typedef struct shapes {
    qdq_input_shape min, opt, max;
} shapes;

/* Consumes l. */
static part make(const char *text, test_layers l, uint32_t group, bool halo, const shapes *s)
{
    qdq_shape_range_opts o = {0};
    part x = {.m = test_model(text)};

    assert_ok(qdq_model_infer(x.m, NULL, &err));
    assert_ok(qdq_fusions_find(x.m, l.at, l.n, NULL, &x.f, &err));
    if (s != NULL)
        o = (qdq_shape_range_opts){{&s->min, &s->opt, &s->max}, {1, 1, 1}};
    assert_ok(qdq_shape_range_open(x.m, &o, &x.range, &err));
    qdq_group_model_opts opts = {.halo = halo, .range = x.range};
    assert_ok(qdq_group_model_make(x.f, group, &opts, &x.g, &err));
    if (x.g->model != NULL) {
        qdq_finding *found;
        size_t n;
        assert_ok(qdq_model_check(x.g->model, &found, &n, &err));
        for (size_t i = 0; i < n; i++)
            if (found[i].is_error)
                fail_msg("%s", found[i].text);
        qdq_free(found);
    }
    test_layers_free(&l);
    return x;
}

static void done(part *x)
{
    qdq_group_model_free(x->g);
    qdq_shape_range_close(x->range);
    qdq_fusions_free(x->f);
    qdq_model_free(x->m);
}

static void assert_refused(const char *text, test_layers l, const char *why)
{
    part x = make(text, l, 0, false, NULL);

    assert_null(x.g->model);
    assert_string_equal(x.g->why, why);
    done(&x);
}

/* --- boundaries ------------------------------------------------------------------------------- */

static const char chain[] = HEAD "g (float[N,4] x) => (float[N,4] y) <" W4 ">\n"
                                 "{ [a] t = MatMul(x, w)\n [r] u = Relu(t)\n [b] v = MatMul(u, w)\n"
                                 "  [s] y = Add(v, t) }\n";

TEST(a_group_is_a_model_with_its_constants)
{
    part x = make(chain, TEST_LAYERS("gemm a", "relu r", "gemm b+s"), 2, false, NULL);

    assert_non_null(x.g->model);
    test_assert_text(x.g->model,
                     "g (float[N,4] u, float[N,4] t) => (float[N,4] y) <\n"
                     "  float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
                     "> {\n  [b] v = MatMul(u, w)\n  [s] y = Add(v, t)\n}\n");
    assert_int_equal(x.g->n_inputs, 2);
    assert_string_equal(x.g->input[0].name, "u");
    assert_int_equal(x.g->input[0].dims.dim[QDQ_SHAPE_OPT][0], -1);
    assert_int_equal(x.g->n_nodes, 2);
    done(&x);
}

TEST(an_output_is_given_once_whoever_reads_it)
{
    part x = make(chain, TEST_LAYERS("gemm a", "relu r", "gemm b+s"), 0, false, NULL);

    assert_int_equal(qdq_model_output_count(x.g->model), 1); /* two read it */
    done(&x);
}

TEST(a_halo_is_one_node_far)
{
    part x = make(chain, TEST_LAYERS("gemm a", "relu r", "gemm b", "add s"), 1, true, NULL);

    assert_int_equal(x.g->n_nodes, 3);
    assert_true(x.g->is_halo[0] && !x.g->is_halo[1] && x.g->is_halo[2]);
    assert_string_equal(x.g->node[2]->name, "b");
    assert_int_equal(x.g->n_inputs, 1);
    assert_string_equal(x.g->input[0].name, "x");
    done(&x);
}

/* Without the Relu, an engine would take the Add for the bias of the product. */
TEST(neighbours_without_kernels_come_with_their_group)
{
    part x = make(HEAD "g (float[4,4] x, float[4] c) => (float[4,4] y) <" W4 ">\n"
                       "{ [a] t = MatMul(x, w)\n [d] u = Add(t, c)\n [r] v = Relu(u)\n"
                       "  [b] k = MatMul(v, w)\n [s] y = Sigmoid(k) }\n",
                  TEST_LAYERS("gemm a", "pointwise d+r", "gemm b+s"), 0, true, NULL);
    part y = make(HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
                       "{ [a] t = MatMul(x, w)\n [b] k = MatMul(t, w)\n [s] y = Sigmoid(k) }\n",
                  TEST_LAYERS("gemm a", "gemm b+s"), 0, true, NULL);

    assert_int_equal(x.g->n_nodes, 3);
    assert_string_equal(x.g->node[2]->name, "r");
    assert_int_equal(y.g->n_nodes, 2); /* a kernel is work */
    done(&y);
    done(&x);
}

TEST(constants_come_along_through_chains)
{
    part x = make(
        HEAD "g (float[4,4] x) => (float[4,4] y)\n"
             "{ [k] k = Constant<value = float16[4,4] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>()\n"
             "  [c] c = Cast<to = 1>(k)\n [a] y = MatMul(x, c) }\n",
        TEST_LAYERS("gemm a"), 0, false, NULL);

    assert_int_equal(x.g->n_inputs, 1);
    assert_int_equal(x.g->model->graph->n_node, 3);
    done(&x);
}

/* 4.2 */
TEST(a_constant_that_callers_may_override_is_one)
{
    part x = make(HEAD "g (float[4,4] x, float[4,4] w) => (float[4,4] y) <" W4 ">\n"
                       "{ [a] t = MatMul(x, w)\n [r] y = Relu(t) }\n",
                  TEST_LAYERS("gemm a", "relu r"), 0, false, NULL);

    assert_int_equal(x.g->n_inputs, 1);
    assert_int_equal(qdq_model_input_count(x.g->model), 1);
    done(&x);
}

TEST(a_left_out_input_stays_left_out)
{
    part x = make(HEAD "g (float[4,4] x, float hi) => (float[4,4] y) <" W4 ">\n"
                       "{ [a] t = MatMul(x, w)\n [c] y = Clip(t, \"\", hi) }\n",
                  TEST_LAYERS("gemm a", "clip c"), 1, false, NULL);

    assert_int_equal(x.g->n_inputs, 2);
    assert_null(qdq_node_in(qdq_graph_find(x.g->model->graph, "y")->producer, 1));
    done(&x);
}

/* 4.3: what a body reads is an input, and what only a body reads is an output. */
static const char captured[] =
    HEAD "g (float[4,4] x, bool c) => (float[4,4] y) <" W4 ">\n"
         "{ [a] t = MatMul(x, w)\n [z] q = Relu(x)\n"
         "  [i] u = If(c) <then_branch = then () => (float[4,4] p) { [in] p = MatMul(t, w) },\n"
         "                 else_branch = other () => (float[4,4] o) { [out] o = Relu(q) }>\n"
         "  [b] y = MatMul(u, w) }\n";

TEST(what_bodies_read_crosses_the_boundary)
{
    part x = make(captured, TEST_LAYERS("gemm a", "relu z", "If i", "gemm b"), 2, false, NULL);
    part y = make(captured, TEST_LAYERS("gemm a", "relu z", "If i", "gemm b"), 0, false, NULL);

    assert_int_equal(x.g->n_inputs, 3);
    assert_string_equal(x.g->input[0].name, "c");
    assert_string_equal(x.g->input[1].name, "t");
    assert_string_equal(x.g->input[2].name, "q");
    assert_int_equal(qdq_model_output_count(y.g->model), 1);
    done(&y);
    done(&x);
}

TEST(a_neighbour_with_bodies_is_no_halo)
{
    part x = make(captured, TEST_LAYERS("gemm a", "relu z", "If i", "gemm b"), 3, true, NULL);

    assert_int_equal(x.g->n_nodes, 1);
    assert_string_equal(x.g->input[0].name, "u");
    done(&x);
}

/* --- shapes ----------------------------------------------------------------------------------- */

static const char flattened[] =
    HEAD "g (float[N,2,2] x, float[3,4] z) => (float[N,4] y, float[3,4] q) <" W4 ">\n"
         "{ [r] t = Relu(x)\n [f] u = Flatten<axis = 1>(t)\n [a] y = MatMul(u, w)\n"
         "  [b] q = MatMul(z, w) }\n";

TEST(boundaries_have_the_shapes_of_all_three_passes)
{
    const shapes s = {{"x", 3, {1, 2, 2}}, {"x", 3, {8, 2, 2}}, {"x", 3, {16, 2, 2}}};
    part x = make(flattened, TEST_LAYERS("relu r", "flatten f", "gemm a", "gemm b"), 2, false, &s);
    part fixed =
        make(flattened, TEST_LAYERS("relu r", "flatten f", "gemm a", "gemm b"), 3, false, &s);
    const qdq_dims_range *d = &x.g->input[0].dims;
    qdq_io io;

    assert_string_equal(x.g->input[0].name, "u");
    assert_int_equal(d->rank, 2);
    assert_true(d->dynamic);
    assert_int_equal(d->dim[QDQ_SHAPE_MIN][0], 1);
    assert_int_equal(d->dim[QDQ_SHAPE_OPT][0], 8);
    assert_int_equal(d->dim[QDQ_SHAPE_MAX][0], 16);
    for (int i = 0; i < QDQ_SHAPE_RANGE; i++)
        assert_int_equal(d->dim[i][1], 4);
    assert_true(qdq_model_input(x.g->model, 0, &io));
    assert_int_equal(io.dim[0], -1); /* what is written stays symbolic */
    assert_string_equal(io.param[0], "N");
    assert_false(fixed.g->input[0].dims.dynamic); /* a sibling without it has no shapes to give */
    assert_int_equal(fixed.g->input[0].dims.dim[QDQ_SHAPE_MAX][0], 3);
    done(&fixed);
    done(&x);
}

/* 4.5.4: what grows as the input shrinks is sorted. */
TEST(shapes_that_shrink_are_sorted)
{
    const shapes s = {{"x", 2, {8, 2}}, {"x", 2, {4, 2}}, {"x", 2, {2, 2}}};
    part x =
        make(HEAD "g (float[N,2] x) => (float[N,2] y)\n{ [a] t = Relu(x)\n [b] y = Relu(t) }\n",
             TEST_LAYERS("relu a", "relu b"), 1, false, &s);

    assert_int_equal(x.g->input[0].dims.dim[QDQ_SHAPE_MIN][0], 2);
    assert_int_equal(x.g->input[0].dims.dim[QDQ_SHAPE_OPT][0], 4);
    assert_int_equal(x.g->input[0].dims.dim[QDQ_SHAPE_MAX][0], 8);
    done(&x);
}

TEST(an_input_without_ends_has_its_usual_shape_there)
{
    const qdq_input_shape opt[] = {{"x", 1, {8}}, {"z", 1, {4}}}, max = {"z", 1, {6}};
    const qdq_shape_range_opts o = {{NULL, opt, &max}, {0, 2, 1}};
    qdq_model *m = test_model(HEAD "g (float[N] x, float[K] z) => (float[N] y, float[K] q)\n"
                                   "{ [a] y = Relu(x)\n [b] q = Relu(z) }\n");
    qdq_dims_range d;
    qdq_shape_range *r;

    assert_ok(qdq_shape_range_open(m, &o, &r, &err));
    assert_true(qdq_shape_range_of(r, qdq_graph_find(m->graph, "y"), &d));
    assert_false(d.dynamic);
    assert_int_equal(d.dim[QDQ_SHAPE_MAX][0], 8);
    assert_true(qdq_shape_range_of(r, qdq_graph_find(m->graph, "q"), &d));
    assert_int_equal(d.dim[QDQ_SHAPE_MIN][0], 4);
    assert_int_equal(d.dim[QDQ_SHAPE_MAX][0], 6);
    qdq_shape_range_close(r);
    qdq_model_free(m);
}

TEST(min_and_max_need_opt)
{
    const qdq_input_shape one = {"x", 3, {1, 2, 2}};
    const qdq_shape_range_opts o = {{&one, NULL, &one}, {1, 0, 1}};
    qdq_model *m = test_model(flattened);
    qdq_shape_range *r;

    assert_fails(QDQ_E_USAGE, "expected the usual one", qdq_shape_range_open(m, &o, &r, &err));
    assert_null(r);
    qdq_model_free(m);
}

static const char reshaped[] =
    HEAD "g (float[N,2,2] x) => (float[N,4] y) <" W4 ", int64[1] four = {4}, int64[1] zero = {0}>\n"
         "{ [s] s = Shape(x)\n [g] n = Gather(s, zero)\n"
         "  [c] to = Concat<axis = 0>(n, four)\n [r] t = Relu(x)\n"
         "  [v] u = Reshape(t, to)\n [a] y = MatMul(u, w) }\n";

TEST(unknown_dims_count_1_unless_another_input_says_otherwise)
{
    static const qdq_input_shape given = {"a", 2, {3, 4}};
    qdq_model *m =
        test_model(HEAD "g (float[N,4] a, float[M,N,2] b, float[2,2] c) => (float[M,N,2] y)\n"
                        "{ y = Relu(b) }\n");
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_input_shape *s;
    size_t n;

    assert_ok(qdq_usual_shapes(m, &given, 1, &arena, &s, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(s[0].name, "a");
    assert_int_equal(s[0].dim[0], 3);
    assert_string_equal(s[1].name, "b");
    assert_true(s[1].rank == 3 && s[1].dim[0] == 1 && s[1].dim[1] == 3 && s[1].dim[2] == 2);
    assert_ok(qdq_usual_shapes(m, NULL, 0, &arena, &s, &n, &err));
    assert_true(n == 2 && s[0].dim[0] == 1 && s[1].dim[1] == 1);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}

TEST(a_computed_shape_comes_along_if_what_it_is_of_is_there)
{
    part x = make(reshaped, TEST_LAYERS("relu r+v", "gemm a"), 0, false, NULL);

    assert_int_equal(x.g->n_inputs, 1);
    assert_string_equal(x.g->input[0].name, "x");
    assert_int_equal(x.g->n_frozen, 0);
    assert_int_equal(x.g->model->graph->n_node, 5);
    done(&x);
}

TEST(a_computed_shape_is_frozen_if_it_is_not)
{
    const shapes s = {{"x", 3, {1, 2, 2}}, {"x", 3, {8, 2, 2}}, {"x", 3, {16, 2, 2}}};
    part x = make(reshaped, TEST_LAYERS("relu r", "gemm v+a"), 1, false, &s);
    const qdq_value *to = qdq_graph_find(x.g->model->graph, "to");
    qdq_arena scratch = QDQ_ARENA_INIT;
    int64_t *ints;

    assert_int_equal(x.g->n_inputs, 1);
    assert_string_equal(x.g->input[0].name, "t");
    assert_int_equal(x.g->n_frozen, 1);
    assert_non_null(qdq_value_const(to));
    assert_ok(qdq_tensor_ints(qdq_value_const(to), &scratch, 2, &ints, &err));
    assert_int_equal(ints[0], 8);
    assert_int_equal(ints[1], 4);
    qdq_arena_free(&scratch);
    done(&x);
}

/* --- what cannot be one ----------------------------------------------------------------------- */

TEST(a_shape_that_nobody_knows_is_a_reason)
{
    part x = make(reshaped, TEST_LAYERS("relu r", "gemm v+a"), 1, false, NULL);

    assert_null(x.g->model);
    assert_string_equal(x.g->why, "a shape that it needs is not known before it runs: 'to'");
    done(&x);
}

TEST(a_group_of_constants_is_none)
{
    assert_refused(HEAD "g (float[4] x) => (float[4] y, float[4] x) <float[1] k = {1}>\n"
                        "{ [a] y = RandomUniform<shape = [4]>() }\n",
                   TEST_LAYERS("random a"), "it reads nothing but constants");
}

TEST(a_dead_group_is_none)
{
    assert_refused(HEAD "g (float[4] x) => (float[4] y)\n{ [a] t = Relu(x)\n [b] y = Abs(x) }\n",
                   TEST_LAYERS("relu a", "abs b"), "nothing reads what it gives");
}

TEST(data_dependent_shapes_are_a_reason)
{
    const shapes s = {{"x", 1, {4}}, {"x", 1, {4}}, {"x", 1, {4}}};
    part x = make(HEAD "g (float[N] x) => (int64[1,K] y)\n"
                       "{ [a] t = NonZero(x)\n [b] y = Neg(t) }\n",
                  TEST_LAYERS("nonzero a", "neg b"), 1, false, &s);

    assert_null(x.g->model);
    assert_string_equal(x.g->why, "the shape of an input is not known before it runs: 't'");
    done(&x);
}

TEST(a_group_that_is_not_there_is_an_error)
{
    part x = make(chain, TEST_LAYERS("gemm a", "gemm b"), 0, false, NULL);
    qdq_group_model_opts opts = {.range = x.range};
    qdq_group_model *g;

    assert_fails(QDQ_E_USAGE, "found group 99, expected one below",
                 qdq_group_model_make(x.f, 99, &opts, &g, &err));
    assert_null(g);
    done(&x);
}
