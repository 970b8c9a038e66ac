/* opt_inline_functions.c - limits of what calls of functions give way to. The rest is in
 * text/inline-functions. */
#include "support/test.h"

#define HEAD(imports) "<ir_version: 9, opset_import: [\"\" : 17, " imports "]>\n"
#define MY            HEAD("\"my\" : 1")
#define BODY          "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"
#define PASS          "inline-functions,drop-unused-functions"

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
