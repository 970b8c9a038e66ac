/* target_fit.c - what becomes of int8 weights on processors without VNNI, and what the check says
 * of files that have them. */
#include "quant/target_fit.h"

#include "base/cpu.h"
#include "base/processor.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

typedef struct fitted {
    qdq_elem type;
    bool reduced, pairs, changed;
} fitted;

static fitted fit(const char *target, const char *key, const char *value, qdq_cpu cpu)
{
    test_builder b = test_build(17);
    qdq_target *t = NULL, *own = NULL;

    TEST_INPUT(&b, "x", 1, 4);
    TEST_NODE(&b, "Relu", "y", "x");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load(target, &t, &err));
    if (key != NULL)
        assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_target_fit(m, t, cpu, NULL, &own, &err));
    const qdq_format *was = &t->format, *f = own != NULL ? &own->format : was;
    fitted out = {f->weight.type, f->weight.reduced, f->weight_pairs,
                  f->weight.type != was->weight.type || f->weight.reduced != was->weight.reduced ||
                      f->weight_pairs != was->weight_pairs};
    qdq_target_free(own);
    qdq_target_free(t);
    qdq_model_free(m);
    return out;
}

static void assert_fits(fitted f, qdq_elem type, bool reduced, bool changed)
{
    assert_int_equal(f.type, type);
    assert_int_equal(f.reduced, reduced);
    assert_int_equal(f.changed, changed);
}

TEST(without_vnni_pairs_of_weights_stay_below_the_limit)
{
    static const char *const targets[] = {"ort-cpu", "openvino"};
    static const qdq_cpu cpus[] = {QDQ_CPU_AVX2, QDQ_CPU_AVX512};

    for (int i = 0; i < 4; i++) {
        fitted f = fit(targets[i % 2], NULL, NULL, cpus[i / 2]);

        assert_fits(f, QDQ_INT8, false, true);
        assert_true(f.pairs);
    }
    assert_true(
        fit("ort-cpu", "activation", "{\"type\": \"int8\", \"symmetric\": true}", QDQ_CPU_AVX2)
            .pairs);
}

TEST(a_target_may_have_uint8_weights_without_vnni_or_one_bit_less)
{
    assert_fits(fit("ort-cpu", "without_vnni", "uint8", QDQ_CPU_AVX2), QDQ_UINT8, false, true);
    assert_fits(fit("ort-cpu", "without_vnni", "reduced", QDQ_CPU_AVX2), QDQ_INT8, true, true);
    /* pairs are those of symmetric codes */
    assert_fits(fit("ort-cpu", "weight.symmetric", "false", QDQ_CPU_AVX2), QDQ_INT8, true, true);
}

TEST(int8_activations_have_no_kernel_beside_uint8_weights)
{
    assert_fits(fit("openvino", "without_vnni", "uint8", QDQ_CPU_AVX2), QDQ_INT8, true, true);
}

TEST(nothing_changes_where_nothing_saturates)
{
    assert_fits(fit("ort-cpu", NULL, NULL, QDQ_CPU_VNNI), QDQ_INT8, false, false);
    assert_fits(fit("ort-cpu", NULL, NULL, QDQ_CPU_ARM), QDQ_INT8, false, false);
    assert_fits(fit("tensorrt", NULL, NULL, QDQ_CPU_AVX2), QDQ_INT8, false, false);
    assert_fits(fit("ort-cpu", "weight.type", "uint8", QDQ_CPU_AVX2), QDQ_UINT8, false, false);
    assert_fits(fit("ort-cpu", "weight.reduced", "true", QDQ_CPU_AVX2), QDQ_INT8, true, false);
    assert_fits(fit("ort-cpu", "without_vnni", "as-it-is", QDQ_CPU_AVX2), QDQ_INT8, false, false);
}

/* Measured there: 1.39 times as long in 8 bits. */
TEST(openvino_has_products_of_matrices_in_float_on_avx2)
{
    static const qdq_cpu cpus[] = {QDQ_CPU_AVX2, QDQ_CPU_AVX512, QDQ_CPU_VNNI, QDQ_CPU_ARM};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { y = Relu(x) }");

    for (size_t i = 0; i < QDQ_COUNT(cpus); i++) {
        qdq_target *t = NULL, *own = NULL;

        assert_ok(qdq_target_load("openvino", &t, &err));
        assert_ok(qdq_target_fit(m, t, cpus[i], NULL, &own, &err));
        assert_int_equal(qdq_target_find(own, "MatMul") != NULL, i > 0);
        assert_int_equal(qdq_target_find(own, "Gemm") != NULL, i > 0);
        assert_non_null(qdq_target_find(own, "Conv"));
        qdq_target_free(own);
        qdq_target_free(t);
    }
    qdq_model_free(m);
}

/* A machine may hide which processor it is, and gives one name to both. */
TEST(the_name_of_a_processor_without_vnni_says_so)
{
    char name[300];

    qdq_processor_name(name, sizeof name);
    assert_int_equal(strstr(name, " without VNNI, ") != NULL, test_saturates());
    assert_non_null(strstr(name, " cores"));
}

TEST(the_processor_that_runs_is_found)
{
    assert_int_not_equal(qdq_cpu_detect(), QDQ_CPU_AUTO);
    assert_int_equal(qdq_target_cpu(QDQ_CPU_AUTO), qdq_cpu_detect());
    assert_int_equal(qdq_target_cpu(QDQ_CPU_AVX2), QDQ_CPU_AVX2);
    assert_string_equal(qdq_cpu_name(QDQ_CPU_AVX512), "avx512");
    assert_null(qdq_cpu_name((qdq_cpu)5));
}

/* --- plans ------------------------------------------------------------------------------------ */

#define PLAN(more)                                                                                 \
    "{\"qdq_plan\": 1, \"model\": \"m\", \"target\": \"t\", " more                                 \
    "\"clean\": \"\", \"opset\": 0, \"tensors\": [], "                                             \
    "\"weights\": [], \"biases\": []}"

TEST(a_plan_keeps_its_processor)
{
    static const char text[] = PLAN("\"cpu\": \"avx512\", "), none[] = PLAN(""),
                      odd[] = PLAN("\"cpu\": \"auto\", ");
    qdq_plan *p = NULL;
    char *out = NULL;

    assert_ok(qdq_plan_parse(text, sizeof text - 1, "p", &p, &err));
    assert_string_equal(qdq_plan_get_summary(p)->cpu, "avx512");
    assert_ok(qdq_plan_to_text(p, &out, &err));
    assert_non_null(strstr(out, "\"cpu\": \"avx512\""));
    qdq_free(out);
    qdq_plan_free(p);
    assert_ok(qdq_plan_parse(none, sizeof none - 1, "p", &p, &err));
    assert_string_equal(qdq_plan_get_summary(p)->cpu, "");
    qdq_plan_free(p);
    assert_fails(QDQ_E_FORMAT, "key 'cpu': expected 'avx2', 'avx512', 'vnni' or 'arm'",
                 qdq_plan_parse(odd, sizeof odd - 1, "p", &p, &err));
}

/* --- check ------------------------------------------------------------------------------------ */

/* A product [1, 4] x [4, 1] of uint8 and int8, between Q and DQ; its weights are the four codes. */
static size_t saturating(const int8_t *codes, qdq_cpu cpu, char *why, size_t size)
{
    static const int64_t dims[] = {4, 1};
    test_builder b = test_build(17);
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    qdq_target_check *check = NULL;
    qdq_target *t = NULL;
    void *data;
    float scale = 0.1F;
    int8_t zero = 0;

    TEST_INPUT(&b, "x", 1, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.5F, 128);
    qdq_tensor *w = qdq_tensor_new(b.m, QDQ_INT8, 2, dims, &data);
    memcpy(data, codes, 4);
    assert_non_null(qdq_graph_add_init(b.g, "w", w));
    assert_non_null(qdq_graph_add_init(b.g, "w.s", qdq_tensor_of_floats(b.m, 0, NULL, &scale)));
    qdq_tensor *z = qdq_tensor_new(b.m, QDQ_INT8, 0, NULL, &data);
    memcpy(data, &zero, 1);
    assert_non_null(qdq_graph_add_init(b.g, "w.z", z));
    TEST_NODE(&b, "DequantizeLinear", "w.dq", "w", "w.s", "w.z");
    TEST_NODE(&b, "MatMul", "y", "x.dq", "w.dq");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    opts.cpu = cpu;
    assert_ok(qdq_model_check_target(m, t, &opts, &check, &err));
    size_t n = 0;
    why[0] = '\0';
    for (size_t i = 0; i < check->n; i++)
        if (strcmp(check->findings[i].kind, "saturates") == 0) {
            n++;
            snprintf(why, size, "%s", check->findings[i].why);
        }
    qdq_free(check);
    qdq_target_free(t);
    qdq_model_free(m);
    return n;
}

TEST(check_warns_of_pairs_that_saturate)
{
    static const int8_t much[] = {127, 2, -127, -2}, fits[] = {127, 1, -128, 0},
                        apart[] = {1, 127, 127, 1};
    char why[300];

    assert_int_equal(saturating(much, QDQ_CPU_AVX2, why, sizeof why), 1);
    assert_non_null(
        strstr(why, "on avx2, the sums of 2 of 2 pairs of its int8 weights can saturate"));
    assert_int_equal(saturating(much, QDQ_CPU_VNNI, why, sizeof why), 0);
    assert_int_equal(saturating(much, QDQ_CPU_ARM, why, sizeof why), 0);
    assert_int_equal(saturating(fits, QDQ_CPU_AVX512, why, sizeof why), 0); /* 255 * 128 = 32640 */
    assert_int_equal(saturating(apart, QDQ_CPU_AVX512, why, sizeof why), 0);
}
