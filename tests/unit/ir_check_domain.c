/* ir_check_domain.c - numbers that end engines: of calls written out, and at the engines' door.
 * Those in attributes and constants are in text/domains. */
#include "ir/graph_check.h"
#include "support/test.h"

/* F0 calls F1 calls ... `times` times each. */
static qdq_model *calls(int levels, int times)
{
    size_t size = (size_t)levels * 400 + 1000, n = 0;
    char *text = malloc(size);

    assert_non_null(text);
#define IMPORTS "opset_import: [\"\" : 17, \"my\" : 1]>\n"
    n += (size_t)snprintf(
        text, size, "<ir_version: 9, " IMPORTS "g (float[2] x) => (float[2] y) { y = my.F0(x) }\n");
    for (int i = 0; i < levels; i++) {
        n += (size_t)snprintf(text + n, size - n, "<domain: \"my\", " IMPORTS "F%d (a) => (c) { ",
                              i);
        for (int k = 0; k < times; k++)
            n += (size_t)snprintf(text + n, size - n, "%s = my.F%d(%s) ", k + 1 < times ? "b" : "c",
                                  i + 1, k > 0 ? "b" : "a");
        n += (size_t)snprintf(text + n, size - n, "}\n");
    }
    snprintf(text + n, size - n, "<domain: \"my\", " IMPORTS "F%d (a) => (b) { b = Neg(a) }\n",
             levels);
    qdq_model *m = test_model(text);
    free(text);
    return m;
}

TEST(calls_that_end_the_stack_of_engines_are_errors)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = calls(3000, 1);

    assert_fails(QDQ_E_FORMAT,
                 "model: calls of functions are nested 3001 deep; expected at most 256",
                 qdq_model_check_domains(m, &err));
    qdq_model_free(m);
    m = calls(200, 1);
    assert_ok(qdq_model_check_domains(m, &err));
    qdq_model_free(m);
    m = calls(60, 2);
    assert_fails(QDQ_E_FORMAT,
                 "model: more than 5000000 nodes with all calls of functions written out",
                 qdq_model_check_domains(m, &err));
    qdq_model_free(m);
}

TEST(no_engine_is_handed_such_a_model)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_engine *e = NULL;
    qdq_session *s = NULL;

    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    assert_fails(QDQ_E_FORMAT,
                 "engine 'sim': node 'n': attribute 'blocksize' of DepthToSpace is 4294967296",
                 qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
    qdq_model_free(m);
}
