/* opt_inline_functions.c - calls of functions give way to their bodies; what cannot be put in place
 * stays a call. */
#include "support/test.h"

#define HEAD(imports) "<ir_version: 9, opset_import: [\"\" : 17, " imports "]>\n"
#define MY            HEAD("\"my\" : 1")
#define BODY          "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"
#define PASS          "inline-functions,drop-unused-functions"

/* --- fires ------------------------------------------------------------------------------------ */

TEST(domains_that_the_model_lacks_are_imported)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m =
        test_model(MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 17, \"your\" : 3, \"unused\" : 1]>\n"
                      "F (a) => (b) {\n"
                      "  b = your.Op(a)\n"
                      "}\n");
    char *text;

    assert_ok(qdq_model_run_passes(m, PASS ",drop-unused-opsets", &err));
    assert_ok(qdq_model_to_text(m, &text, &err));
    assert_non_null(strstr(text, "opset_import: [\"\" : 17, \"your\" : 3]"));
    qdq_free(text);
    qdq_model_free(m);
}

/* --- size ------------------------------------------------------------------------------------- */

/* Each function calls the next one twice: 2^40 nodes. What fits into the limit is expanded, above
 * it calls stay. */
TEST(a_file_of_six_kilobytes_does_not_become_a_gigabyte)
{
    enum { LEVELS = 40 };
    static char text[LEVELS * 200];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    size_t n = 0;

    n +=
        (size_t)snprintf(text, sizeof text, MY "g (float[2] x) => (float[2] y) { y = my.F0(x) }\n");
    for (int i = 0; i < LEVELS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              BODY "F%d (a) => (c) { b = my.F%d(a) c = my.F%d(b) }\n", i, i + 1,
                              i + 1);
    snprintf(text + n, sizeof text - n, BODY "F%d (a) => (b) { b = Neg(a) }\n", LEVELS);
    qdq_model *m = test_model(text);
    opts.passes = "inline-functions";
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    assert_true(r->nodes_after > 10000 && r->nodes_after <= 40000 && r->settled);
    assert_string_equal(
        r->passes[0].refusals[1].reason,
        "the bodies would take more than 16 MiB and 20 times the memory of all nodes");
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

/* A chain of functions, each of which calls the next one inside an If: 100 graphs deep is too
 * deep. */
TEST(graphs_do_not_get_nested_too_deep)
{
    enum { LEVELS = 100 };
    static char text[LEVELS * 300];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    size_t n = 0;

    n += (size_t)snprintf(text, sizeof text,
                          MY "g (bool c, float[2] x) => (float[2] y) { y = my.F0(c, x) }\n");
    for (int i = 0; i < LEVELS; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            BODY "F%d (c, a) => (b) { b = If <then_branch = t () => (float[2] d) {"
                 " d = my.F%d(c, a) }, else_branch = e () => (float[2] f) { f = Neg(a) }> (c) }\n",
            i, i + 1);
    snprintf(text + n, sizeof text - n, BODY "F%d (c, a) => (b) { b = Neg(a) }\n", LEVELS);
    qdq_model *m = test_model(text);
    opts.passes = PASS;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    assert_string_equal(r->passes[0].refusals[0].reason, "graphs would be nested too deep");
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

/* --- drop-unused-functions, drop-unused-opsets ------------------------------------------------ */

/* The text of the imports after the pass. */
static void assert_imports(const char *text, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    char *printed;

    opts.passes = "drop-unused-opsets";
    opts.verify_each = true;
    for (int i = 0; i < 2; i++) {
        assert_ok(qdq_model_optimize(m, &opts, &r, &err));
        assert_true(i == 0 || r->changes == 0);
        assert_ok(qdq_model_to_text(m, &printed, &err));
        if (strstr(printed, expected) == NULL)
            fail_msg("'%s' is not in '%s'", expected, printed);
        qdq_free(printed);
        qdq_optimize_report_free(r);
    }
    qdq_model_free(m);
}

TEST(imports_that_no_node_needs_go)
{
    assert_imports(
        HEAD("\"a\" : 1, \"b\" : 2, \"my\" : 3, \"c\" : 4") "g (float[2] x) => (float[2] y) { y = "
                                                            "b.F(x) }",
        "[\"\" : 17, \"b\" : 2]");
    /* domains of functions, and what functions import, stay; functions themselves keep what they
     * use */
    assert_imports(
        HEAD("\"my\" : 1, \"a\" : 1, \"b\" : 1") "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                                                 "<domain: \"my\", opset_import: [\"a\" : 1, \"\" "
                                                 ": 17]>\n"
                                                 "F (x) => (y) { y = a.Op(x) }\n",
        "[\"\" : 17, \"my\" : 1, \"a\" : 1]");
    assert_imports(MY "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                      "<domain: \"my\", opset_import: [\"a\" : 1, \"\" : 17, \"b\" : 2]>\n"
                      "F (x) => (y) { y = a.Op(x) }\n",
                   "<domain: \"my\", opset_import: [\"a\" : 1, \"\" : 17]>");
}
