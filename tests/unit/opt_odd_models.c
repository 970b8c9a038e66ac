/* opt_odd_models.c - sound but odd models come through every pass and pipeline sound, with the same
 * inputs and outputs, and a second run changes nothing. */
#include <sys/resource.h>

#include "base/buf.h"
#include "ir/ir.h"
#include "support/build.h"
#include "support/odd_models.h"
#include "support/signature.h"
#include "support/test.h"

/* --- what holds for all ----------------------------------------------------------------------- */

/* The first run, and that there is nothing left for a second. The report is the first's. */
static qdq_optimize_report *optimize(qdq_model *m, const char *name, const char *passes,
                                     const qdq_target *t)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *first = NULL, *second = NULL;
    qdq_error err = QDQ_ERROR_INIT;

    opts.passes = passes;
    opts.target = t;
    opts.verify_each = true;
    if (qdq_model_optimize(m, &opts, &first, &err) != QDQ_OK)
        fail_msg("%s, %s: %s", name, passes, err.text);
    assert_true(first->settled);
    assert_ok(qdq_model_optimize(m, &opts, &second, &err));
    for (size_t i = 0; i < second->n_passes; i++)
        if (second->passes[i].changes > 0)
            fail_msg("%s, %s: a second run changes something: %s", name, passes,
                     second->passes[i].pass);
    qdq_optimize_report_free(second);
    return first;
}

static void survives(const qdq_model *m, const char *name, const char *passes, const qdq_target *t)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *copy;
    char *before = test_signature(m), *after;

    assert_ok(qdq_model_clone(m, &copy, &err));
    qdq_optimize_report_free(optimize(copy, name, passes, t));
    after = test_signature(copy);
    if (strcmp(passes, "freeze-inputs") != 0 && !test_same_signature(before, after))
        fail_msg("%s, %s: found\n%sexpected\n%s", name, passes, after, before);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(copy);
}

static void survives_all(const qdq_model *m, const char *name)
{
    const char *pass;

    survives(m, name, "default", NULL);
    for (size_t i = 0; qdq_target_name(i, NULL) != NULL; i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_target *t;

        assert_ok(qdq_target_load(qdq_target_name(i, NULL), &t, &err));
        survives(m, name, "default", t);
        survives(m, name, "quantize", t);
        qdq_target_free(t);
    }
    for (size_t i = 0; (pass = qdq_pass_name(i, NULL)) != NULL; i++)
        survives(m, name, pass, NULL);
}

TEST(odd_models_come_through_every_pass)
{
    for (size_t i = 0; i < test_n_odd_models; i++) {
        qdq_model *m = test_model(test_odd_models[i].text);

        survives_all(m, test_odd_models[i].name);
        qdq_model_free(m);
    }
}

/* --- every version ---------------------------------------------------------------------------- */

TEST(every_opset_comes_through_every_pass)
{
    for (int opset = 7; opset <= 22; opset++) {
        char text[1500], name[32];

        snprintf(name, sizeof name, "opset %d", opset);
        snprintf(
            text, sizeof text,
            "<ir_version: %d, opset_import: [\"\" : %d]>\n"
            "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] "
            "b = {0, "
            "0},\n"
            "  float[2] s = {1, 2}, float[2] v = {0.5, 0.25}, int64[4] shape = {1, 2, 4, 4}, "
            "float[2] two = "
            "{2, 2}> {\n"
            "  a = Identity(x) c = Conv(a, w, b) d = BatchNormalization(c, s, b, b, v) e = "
            "Relu(d)\n"
            "  f = Relu(e) g1 = Dropout(f) h = Shape(g1) i = Cast <to = 7> (h) k = Reshape(g1, i)\n"
            "  l = Transpose <perm = [0, 1, 3, 2]> (k) m = Transpose <perm = [0, 1, 3, 2]> (l)\n"
            "  n = Reshape(m, shape) o = Mul(two, two) p = Softmax <axis = 1> (o) q = Add(n, n) y "
            "= Abs(q) }",
            opset < 9 ? 3 : 8, opset);
        qdq_model *m = test_model(text);
        survives_all(m, name);
        qdq_model_free(m);
    }
}

/* --- depth and length ------------------------------------------------------------------------- */

/* If in If, `depth` deep: the innermost reads x of the main graph; conditions are all known, or
 * none is. */
static qdq_model *nested(int depth, bool known)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_puts(
        &text,
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[2] x, bool c) => (float[2] y0) "
        "<bool yes = {1}> {\n");
    for (int i = 0; i < depth; i++)
        qdq_buf_printf(&text, "y%d = If <then_branch = t%d () => (float[2] y%d) {\n", i, i, i + 1);
    qdq_buf_printf(&text, "i = Identity(x) y%d = Neg(i)\n", depth);
    for (int i = depth; i-- > 0;)
        qdq_buf_printf(&text, "}, else_branch = e%d () => (float[2] n%d) { n%d = Abs(x) }> (%s)\n",
                       i, i, i, known ? "yes" : "c");
    qdq_buf_puts(&text, "}\n");
    assert_false(text.failed);
    qdq_model *m = test_model(text.data);
    qdq_buf_free(&text);
    return m;
}

TEST(graphs_as_deep_as_readers_take_them_are_cleaned)
{
    qdq_model *m = nested(63, false);

    survives_all(m, "63 deep");
    qdq_model_free(m);
    m = nested(63, true);
    survives_all(m, "63 deep, known");
    qdq_optimize_report_free(optimize(m, "63 deep, known", "default", NULL));
    test_assert_text(m, "g (float[2] x, bool c) => (float[2] y0) {\n"
                        "  y0 = Neg(x)\n"
                        "}\n");
    qdq_model_free(m);
}

/* Names of values that are read `n` deep are looked up, walked and renamed without recursion. */
TEST(a_chain_as_long_as_a_list_of_nodes_may_be_is_cleaned)
{
    enum { N = 20000 };
    static const char *const ops[] = {"Identity", "Relu", "Neg", "Abs"};
    test_builder b = test_build(17);
    char name[32], before[32] = "x";

    TEST_INPUT(&b, "x", 2, 2);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "v%d", i);
        TEST_NODE(&b, ops[i % 4], name, before);
        memcpy(before, name, sizeof name);
    }
    test_output(&b, before);
    survives(b.m, "a long chain", "default", NULL);
    qdq_model_free(b.m);
}

/* --- what is said of them --------------------------------------------------------------------- */

static bool has_reason(const qdq_optimize_report *r, const char *reason)
{
    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++)
            if (strstr(r->passes[i].refusals[k].reason, reason) != NULL)
                return true;
    return false;
}

static const char *odd(const char *name)
{
    for (size_t i = 0; i < test_n_odd_models; i++)
        if (strcmp(test_odd_models[i].name, name) == 0)
            return test_odd_models[i].text;
    fail_msg("no odd model '%s'", name);
    return NULL;
}

/* The model stays as it is to the last byte, and the report says why. */
static void stays(const char *name, const char *passes, const char *reason)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(odd(name));
    char *before = NULL, *after = NULL;

    assert_ok(qdq_model_to_text(m, &before, &err));
    qdq_optimize_report *r = optimize(m, name, passes, NULL);
    assert_ok(qdq_model_to_text(m, &after, &err));
    assert_string_equal(after, before);
    if (reason != NULL && !has_reason(r, reason))
        fail_msg("%s: '%s' is not in the report", name, reason);
    qdq_optimize_report_free(r);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(m);
}

/* The model is not changed by what is refused. */
static void refused(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    char *before = NULL, *after = NULL;

    assert_ok(qdq_model_to_text(m, &before, &err));
    assert_fails(QDQ_E_FORMAT, part, qdq_model_optimize(m, NULL, NULL, &err));
    assert_ok(qdq_model_to_text(m, &after, &err));
    assert_string_equal(after, before);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(m);
}

TEST(functions_that_call_themselves_are_refused)
{
    refused(
        "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
        "g (float[2] x) => (float[2] y) { i = Identity(x) y = my.F(i) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> F (u) => (v) { t = my.G(u) v = "
        "Identity(t) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> G (u) => (v) { v = my.F(u) }",
        "function 'F': its calls lead in a circle");
    stays("functions of another opset", "default", "opset conflict");
}

TEST(names_of_the_graph_around_are_refused_in_bodies)
{
    refused(
        "g (float[2] x, bool c) => (float[2] y) <float[2] k = {1, 2}> {\n"
        "  y = If <then_branch = a () => (float[2] p) <float[2] k = {3, 4}> { p = Add(x, k) },\n"
        "    else_branch = b () => (float[2] q) { q = Neg(x) }> (c)\n"
        "}\n",
        "the name 'k' is also that of a value around it");
    refused(
        "g (float[2] x, bool c) => (float[2] y) {\n"
        "  y = If <then_branch = a () => (float[2] x) {}, else_branch = b () => (float[2] q) { q = "
        "Neg(x) }> (c)\n"
        "}\n",
        "graph 'a'");
}

TEST(functions_that_call_functions_are_put_in_place)
{
    qdq_model *m = test_model(odd("functions that call functions"));

    qdq_optimize_report_free(optimize(m, "functions", "default", NULL));
    test_assert_text(m, "g (float[2] x) => (float[2] y) <\n"
                        "  float[2] c = {1, 2}\n"
                        "> {\n"
                        "  t = Add(x, c)\n"
                        "  s = Add(t, c)\n"
                        "  y = Elu <alpha = 0.5> (s)\n"
                        "}\n");
    qdq_model_free(m);
}

TEST(values_of_unknown_operators_and_domains_stay)
{
    stays("Q and DQ of another domain", "default", NULL);
    stays("Q and DQ of another domain", "quantize", NULL);
    stays("sparse initializers", "default", NULL);
    stays("sparse constants", "default", NULL);
}

TEST(initializers_that_callers_may_override_are_no_constants)
{
    stays("initializers that callers may override", "fold-constants", NULL);
    stays("initializers that callers may override",
          "inline-if,fold-constants,drop-unused,share-initializers", NULL);
    /* below IR 4 they are constants: nobody could give another value */
    qdq_model *m = test_model(odd("initializers that are listed as inputs, below IR 4"));
    qdq_optimize_report_free(optimize(m, "below IR 4", "default", NULL));
    assert_int_equal(m->graph->n_node, 1);
    assert_int_equal(qdq_model_input_count(m), 1);
    qdq_model_free(m);
}

/* --- limits ----------------------------------------------------------------------------------- */

TEST(huge_results_are_refused_with_a_reason_and_without_memory)
{
    static const char *const names[] = {"huge fills", "huge copies", "scales of huge tensors",
                                        "a tensor that is doubled forty times"};
    struct rusage before, after;

    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        qdq_model *m = test_model(odd(names[i]));
        qdq_optimize_report *r = optimize(m, names[i], "default", NULL);

        if (!has_reason(r, "larger than the limit") && !has_reason(r, "above the limit") &&
            !has_reason(r, "than can be counted") && !has_reason(r, "the file would become larger"))
            fail_msg("%s: no limit is in the report", names[i]);
        assert_true(r->bytes_after <= r->bytes_before + 4096);
        qdq_optimize_report_free(r);
        qdq_model_free(m);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024); /* KiB */
}
