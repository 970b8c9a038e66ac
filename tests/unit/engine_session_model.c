/* engine_session_model.c - what engines are spared of a model. What options build into it is in
 * engine_sim.c. */
#include "engine/session_model.h"
#include "support/test.h"

#include "ir/ir.h"

static qdq_error err;

/* y = x + a, and `n` initializers that nothing reads. */
static qdq_model *unread_initializers(int n)
{
    const size_t size = 200 + (size_t)n * 40;
    char *text = malloc(size);
    size_t used;

    assert_non_null(text);
    used =
        (size_t)snprintf(text, size,
                         "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                         "g (float[1] x) => (float[1] y, b) <float[1] a = {1}, float[1] b = {2}");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, ", float v%d = {0}", i);
    snprintf(text + used, size - used, "> { y = Add(x, a) }\n");
    qdq_model *m = test_model(text);
    free(text);
    return m;
}

static size_t count_initializers(const qdq_model *m)
{
    size_t n = 0;

    QDQ_FOR_INITS(v, m->graph) n++;
    return n;
}

TEST(many_initializers_that_nothing_reads_are_kept_from_engines)
{
    const qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_model *m = unread_initializers(1001), *own;

    assert_ok(qdq_session_model(m, &opts, false, &own, &err));
    assert_int_equal(count_initializers(own), 2); /* one is read, one is an output */
    assert_int_equal(count_initializers(m), 1003);
    qdq_model_free(own);
    qdq_model_free(m);
}

TEST(a_model_with_few_of_them_is_not_copied)
{
    const qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_model *m = unread_initializers(1000), *own;

    assert_ok(qdq_session_model(m, &opts, false, &own, &err));
    assert_null(own);
    qdq_model_free(m);
}

/* p = x + a, q = p * b, y = Relu(q), r = random numbers */
static qdq_model *chain(void)
{
    return test_graph(__func__);
}

static size_t count_nodes(const qdq_model *m)
{
    size_t n = 0;

    QDQ_FOR_NODES (at, m->graph)
        n++;
    return n;
}

/* Engines compute all nodes, and load all weights, that are there. */
TEST(what_comes_after_the_exposed_tensors_is_kept_from_engines)
{
    static const char *const expose[] = {"p", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_model *m = chain(), *own;

    opts.expose = expose;
    opts.only_exposed = true;
    assert_ok(qdq_session_model(m, &opts, false, &own, &err));
    assert_int_equal(count_nodes(own), 2); /* the next random numbers depend on these */
    assert_int_equal(count_initializers(own), 1);
    assert_int_equal(own->graph->inputs.n, 1);
    qdq_model_free(own);
    opts.only_exposed = false;
    assert_ok(qdq_session_model(m, &opts, false, &own, &err));
    assert_int_equal(count_nodes(own), 4);
    qdq_model_free(own);
    qdq_model_free(m);
}
