/* inputs_speed.c - models of 300,000 inputs or outputs: time is linear in their number. The limits
 * leave room for a slow, shared machine; what was quadratic took ten minutes. */
#include "support/build.h"
#include "support/test.h"

enum { MANY = 300000 };

static qdq_error err;

/* y = Add(x0, x1) and inputs that nothing reads; the second in front is an initializer, so that
 * places are no numbers. */
static qdq_model *many_inputs(void)
{
    test_builder b = test_build(17);
    char name[32];

    TEST_INPUT(&b, "x0", 4);
    assert_true(qdq_graph_make_input(b.g, TEST_RANDOM(&b, "w", 4)));
    for (int i = 1; i < MANY; i++) {
        snprintf(name, sizeof name, "x%d", i);
        TEST_INPUT(&b, name, 4);
    }
    TEST_NODE(&b, "Add", "y", "x0", "x1");
    test_output(&b, "y");
    return b.m;
}

static qdq_model *many_outputs(void)
{
    test_builder b = test_build(17);
    char name[32];

    TEST_INPUT(&b, "x", 4);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "y%d", i);
        TEST_NODE(&b, "Relu", name, "x");
        test_output(&b, name);
    }
    return b.m;
}

/* Feeds the model to the simulator and compares it with itself. */
static void compare_with_itself(qdq_model *m, double limit)
{
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_engine_opts eo = QDQ_ENGINE_OPTS_INIT;
    qdq_data_opts d = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_engine *e = NULL;
    qdq_data *data = NULL;
    double start = test_cpu_seconds();

    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", &eo, &e, &err));
    assert_ok(qdq_data_open("random:1", m, &d, &data, &err));
    assert_ok(qdq_compare(e, m, m, data, &opts, &r, &err));
    printf("%.1f s\n", test_cpu_seconds() - start);
    assert_true(test_cpu_seconds() - start < limit);
    qdq_free(r);
    qdq_data_close(data);
    qdq_engine_close(e);
    qdq_model_free(m);
}

TEST(a_model_of_300000_inputs_takes_seconds_not_minutes)
{
    compare_with_itself(many_inputs(), 30);
}

TEST(a_model_of_300000_outputs_takes_seconds_not_minutes)
{
    compare_with_itself(many_outputs(), 40);
}

/* Callers go forward mostly; any other order gives the same inputs. */
TEST(inputs_are_found_in_any_order)
{
    qdq_model *m = many_inputs();
    qdq_io io;

    assert_int_equal(qdq_model_input_count(m), MANY);
    assert_true(qdq_model_input(m, 5, &io));
    assert_string_equal(io.name, "x5");
    assert_true(qdq_model_input(m, 0, &io));
    assert_string_equal(io.name, "x0");
    assert_true(qdq_model_input(m, MANY - 1, &io));
    assert_string_equal(io.name, "x299999");
    assert_false(qdq_model_input(m, MANY, &io));
    assert_true(qdq_model_input(m, 1, &io));
    assert_string_equal(io.name, "x1");
    qdq_graph_remove_input(m->graph, qdq_graph_find(m->graph, "x0"));
    assert_true(qdq_model_input(m, 1, &io));
    assert_string_equal(io.name, "x2");
    qdq_model_free(m);
}
