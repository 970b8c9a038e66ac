/* tune_context.c - what surrounds equal groups: which of them are one measurement. */
#include "tune/group/keys.h"

#include "ir/shape.h"
#include "support/blocks.h"
#include "support/layers.h"
#include "support/test.h"

static qdq_error err;

typedef struct found {
    qdq_model *m;
    test_layers l;
    qdq_fusions *f;
    qdq_fusion_keys *k;
} found;

static found find(qdq_model *m, test_layers l)
{
    found x = {.m = m, .l = l};

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &x.f, &err));
    assert_ok(qdq_fusion_keys_find(x.f, &x.k, &err));
    return x;
}

static void done(found *x)
{
    qdq_fusion_keys_free(x->k);
    qdq_fusions_free(x->f);
    test_layers_free(&x->l);
    qdq_model_free(x->m);
}

static bool same(const found *x, uint32_t key, uint32_t i, uint32_t j)
{
    const qdq_key_instance *instance = x->k->at[key].instance;

    return memcmp(instance[i].around, instance[j].around, sizeof instance[i].around) == 0;
}

static test_layers layers(void)
{
    return TEST_LAYERS("Conv stem+s 1", "Conv a1+b1 2", "Conv c1+d1+e1 3", "Conv a2+b2 4",
                       "Conv c2+d2+e2 5", "Conv a3+b3 6", "Conv c3+d3+e3 7");
}

static qdq_model *blocks(unsigned swapped)
{
    test_builder b = test_build_planes();

    test_residual_blocks(&b, swapped);
    test_output(&b, "e3");
    return test_built(&b);
}

TEST(blocks_in_a_row_have_equal_surroundings)
{
    found x = find(blocks(0), layers());

    assert_true(same(&x, 0, 1, 2) && same(&x, 0, 2, 3)); /* a1+b1, a2+b2, a3+b3 */
    assert_true(same(&x, 1, 0, 1));                      /* the first two sums */
    done(&x);
}

TEST(the_first_and_the_last_have_others)
{
    found x = find(blocks(0), layers());

    assert_false(same(&x, 0, 0, 1)); /* the stem reads the input */
    assert_false(same(&x, 1, 1, 2)); /* the last sum is the output */
    done(&x);
}

TEST(the_order_of_operands_and_readers_does_not_matter)
{
    found x = find(blocks(2), layers());

    assert_true(same(&x, 1, 0, 1)); /* the second Add is the other way round */
    done(&x);
}

TEST(what_reads_a_group_is_told_apart_by_its_attributes)
{
    found x = find(test_model("<ir_version: 9, opset_import: [\"\" : 17]>\n"
                              "g (float[1,4] x) => (float[1,4] y, float[1,4] z)\n"
                              "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                              "{ [a] a = MatMul(x, w) [b] b = MatMul(x, w)\n"
                              "[p] y = Softmax<axis = 0>(a) [q] z = Softmax<axis = 1>(b) }"),
                   TEST_LAYERS("gemm a", "gemm b", "softmax p", "softmax q"));

    assert_int_equal(x.k->at[0].n_instances, 2);
    assert_false(same(&x, 0, 0, 1));
    done(&x);
}
