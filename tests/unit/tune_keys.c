/* tune_keys.c - content keys of fusion groups: versions, and wires. What is the same and what is
 * not, whatever it is called, is in text/fusions. */
#include "tune/group/keys.h"

#include "ir/shape.h"
#include "support/layers.h"
#include "support/test.h"

static qdq_error err;

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"

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

/* The one key of a model of one group. */
static void key_of(const char *text, char hash[65])
{
    keyed x = keys_of(test_model(text), TEST_LAYERS("gemm a+b"));

    assert_int_equal(x.k->n, 1);
    memcpy(hash, x.k->at[0].hash, 65);
    done(&x);
}

TEST(the_version_of_the_operators_is_in_it)
{
    const char *graph = test_graph_text(__func__);
    char text[400], old[65], later[65];

    snprintf(text, sizeof text, "<ir_version: 9, opset_import: [\"\" : 16]>\n%s", graph);
    key_of(text, old);
    snprintf(text, sizeof text, HEAD "%s", graph);
    key_of(text, later);
    assert_string_not_equal(old, later);
}

TEST(wires_tell_groups_of_equal_operators_apart)
{
    keyed x = keys_of(test_graph(__func__), TEST_LAYERS("gemm a+b", "gemm c+d"));

    assert_int_equal(x.k->n, 2);
    assert_string_not_equal(x.k->at[0].hash, x.k->at[1].hash);
    done(&x);
}
