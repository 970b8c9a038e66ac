/* tune_keys.c - content keys of fusion groups: what is the same and what is not, whatever it is
 * called. */
#include "tune/group/keys.h"

#include <math.h>

#include "ir/shape.h"
#include "support/blocks.h"
#include "support/layers.h"
#include "support/test.h"

static qdq_error err;

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"
#define W4   "float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}"

typedef struct keyed {
    qdq_model *m;
    test_layers l;
    qdq_fusions *f;
    qdq_fusion_keys *k;
} keyed;

static keyed keys_of(qdq_model *m, test_layers l)
{
    keyed x = {.m = m, .l = l};

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &x.f, &err));
    assert_ok(qdq_fusion_keys_find(x.f, &x.k, &err));
    return x;
}

static void done(keyed *x)
{
    qdq_fusion_keys_free(x->k);
    qdq_fusions_free(x->f);
    test_layers_free(&x->l);
    qdq_model_free(x->m);
}

static qdq_model *blocks(unsigned swapped)
{
    test_builder b = test_build_planes();

    test_residual_blocks(&b, swapped);
    test_output(&b, "e3");
    return test_built(&b);
}

TEST(equal_groups_have_one_key)
{
    keyed x = keys_of(blocks(2), TEST_LAYERS("Conv stem+s 1", "Conv a1+b1 2", "Conv c1+d1+e1 3",
                                             "Conv a2+b2 4", "Conv c2+d2+e2 5", "Conv a3+b3 6",
                                             "Conv c3+d3+e3 7"));

    assert_int_equal(x.k->n, 2); /* the stem is a Conv with Relu, too */
    assert_int_equal(x.k->at[0].n_instances, 4);
    assert_int_equal(x.k->at[1].n_instances, 3);
    assert_true(fabs(x.k->at[0].us - 13) < 1e-9 && fabs(x.k->at[1].us - 15) < 1e-9);
    /* the k-th node is the same part in all, also where the Add of the first block is the other way
     * round */
    for (uint32_t i = 0; i < 3; i++) {
        const qdq_key_instance *at = &x.k->at[1].instance[i];
        assert_string_equal(at->node[0]->type, "Conv");
        assert_string_equal(at->node[1]->type, "Add");
        assert_ptr_equal(
            qdq_node_in(at->node[1], at->input[1][0])->producer == at->node[0],
            qdq_node_in(x.k->at[1].instance[0].node[1], x.k->at[1].instance[0].input[1][0])
                    ->producer == x.k->at[1].instance[0].node[0]);
        assert_int_equal(x.k->of[at->group], 1);
    }
    done(&x);
}

/* The one key of a model of one group. */
static void key_of(const char *text, char hash[65])
{
    keyed x = keys_of(test_model(text), TEST_LAYERS("gemm a+b"));

    assert_int_equal(x.k->n, 1);
    memcpy(hash, x.k->at[0].hash, 65);
    done(&x);
}

static void assert_key(const char *text, const char *than, bool same)
{
    char a[65], b[65];

    key_of(text, a);
    key_of(than, b);
    if ((strcmp(a, b) == 0) != same)
        fail_msg("%s %s\n%s", text, same ? "is not as" : "is as", than);
}

static const char plain[] = HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
                                 "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n";

TEST(names_and_values_of_weights_are_not_in_it)
{
    assert_key(plain,
               HEAD "other (float[4,4] in) => (float[4,4] out) <float[4,4] k = "
                    "{9,9,9,9,5,6,7,8,9,9,9,9,9,9,9,9}>\n"
                    "{ [a] h = MatMul(in, k)\n [b] out = LeakyRelu<alpha = 0.5>(h) }\n",
               true);
}

TEST(attributes_shapes_types_and_versions_are_in_it)
{
    static const char *const others[] = {
        HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
             "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.25>(t) }\n",
        HEAD "g (float[5,4] x) => (float[5,4] y) <" W4 ">\n"
             "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n",
        HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
             "{ [a] t = MatMul(w, x)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n",
        HEAD "g (float[4,4] x) => (float[4,4] y, float[4,4] t) <" W4 ">\n"
             "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n",
        HEAD "g (float[4,4] x, float[4,4] w) => (float[4,4] y)\n"
             "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n",
        "<ir_version: 9, opset_import: [\"\" : 16]>\n"
        "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
        "{ [a] t = MatMul(x, w)\n [b] y = LeakyRelu<alpha = 0.5>(t) }\n",
    };

    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_key(others[i], plain, false);
}

TEST(defaults_may_be_left_out)
{
    assert_key(HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ", float[4] c = {1,2,3,4}>\n"
                    "{ [a] t = Gemm<transA = 0>(x, w, c)\n [b] y = Relu(t) }\n",
               HEAD "g (float[4,4] x) => (float[4,4] y) <" W4 ", float[4] c = {1,2,3,4}>\n"
                    "{ [a] t = Gemm(x, w, c)\n [b] y = Relu(t) }\n",
               true);
}

TEST(small_integers_are_in_it)
{
    assert_key(HEAD "g (float[4,4] x) => (float[M,N] y) <" W4 ", int64[2] s = {2, 8}>\n"
                    "{ [a] t = MatMul(x, w)\n [b] y = Reshape(t, s) }\n",
               HEAD "g (float[4,4] x) => (float[M,N] y) <" W4 ", int64[2] s = {8, 2}>\n"
                    "{ [a] t = MatMul(x, w)\n [b] y = Reshape(t, s) }\n",
               false);
}

/* 4.9: the pattern of symbols counts, not what they are called. */
TEST(which_dims_are_the_same_is_in_it)
{
    static const char two[] = HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y)\n"
                                   "{ [a] t = Mul(x, z)\n [b] y = Relu(t) }\n";

    assert_key(HEAD "g (float[B,4] x, float[B,4] z) => (float[B,4] y)\n"
                    "{ [a] t = Mul(x, z)\n [b] y = Relu(t) }\n",
               two, true);
    assert_key(HEAD "g (float[N,4] x, float[M,4] z) => (float[K,4] y)\n"
                    "{ [a] t = Mul(x, z)\n [b] y = Relu(t) }\n",
               two, false);
}

TEST(a_walk_tells_apart_what_a_hash_would_not)
{
    keyed x = keys_of(test_model(HEAD "g (float[4,4] x) => (float[4,4] y, float[4,4] z) <" W4 ">\n"
                                      "{ [a] t = MatMul(x, w)\n [b] y = Add(t, x)\n"
                                      "  [c] u = MatMul(x, w)\n [d] z = Add(u, u) }\n"),
                      TEST_LAYERS("gemm a+b", "gemm c+d"));
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool nomem = false;

    assert_int_equal(x.k->n, 2);
    assert_true(qdq_fusion_same(x.k->at[0].instance, x.k->at[0].instance, 2, &scratch, &nomem));
    assert_false(qdq_fusion_same(x.k->at[0].instance, x.k->at[1].instance, 2, &scratch, &nomem));
    assert_false(nomem);
    qdq_arena_free(&scratch);
    done(&x);
}

TEST(keys_are_the_same_each_time)
{
    char a[65], b[65];

    key_of(plain, a);
    key_of(plain, b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), 64);
}
