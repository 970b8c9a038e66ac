/* quant_verify.c - is it found when an engine computes a model wrongly? On `sim`, which computes
 * single forms wrongly on request, and computes all as written where it is its own reference. Real
 * engines: numeric/verify_engines.c. */
#include <math.h>

#include "support/test.h"

static qdq_error err;

#define COSTS                                                                                      \
    "{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2}}"

static qdq_engine *sim(const char *more)
{
    static char json[1000];

    snprintf(json, sizeof json, "%s%s}", COSTS, more);
    return test_sim(json);
}

static qdq_verify_result verify_with(const char *text, const char *more, qdq_verify_opts *o)
{
    qdq_model *m = test_model(text);
    qdq_engine *e = sim(more);
    qdq_verify_result *r;
    qdq_data *d = NULL;

    assert_ok(qdq_data_open("random:1", m, NULL, &d, &err));
    assert_ok(qdq_verify_engine(m, e, d, o, &r, &err));
    test_keep(r);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    return *r;
}

static qdq_verify_result verify(const char *text, const char *more)
{
    return verify_with(text, more, NULL);
}

TEST(an_engine_that_computes_what_is_written_is_right)
{
    qdq_verify_result r = verify(test_graph_text("convs"), "");
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_int_equal(r.samples, 4);
    assert_string_equal(r.why, "");
    assert_string_equal(r.reference, "sim 1 without optimizations");
    assert_true(r.open);
    assert_true(isinf(r.sqnr_db));
    assert_true(isnan(r.engine_db));
}

TEST(the_first_wrong_node_and_its_form_are_named)
{
    qdq_verify_result r = verify(test_graph_text("convs"), ", \"wrong\": [{\"node\": \"two\"}]");
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_string_equal(r.output, "y");
    assert_string_equal(r.op, "Conv");
    assert_string_equal(r.node, "two");
    assert_string_equal(r.form, "reads uint8, int8, read by QuantizeLinear, Add, open dims");
    assert_false(r.saturates);
    assert_string_equal(r.why, "engine sim 1 computes the model wrongly, with open dims: output "
                               "'y' has an SQNR of 0.0 dB against "
                               "the graph as it is written; first at Conv 'two' (reads uint8, "
                               "int8, read by QuantizeLinear, Add, "
                               "open dims): a defect of the engine");
    r = verify(test_graph_text("convs"), ", \"wrong\": [{\"op\": \"Conv\", \"times\": 100}]");
    assert_string_equal(r.node, "one");
    r = verify(test_graph_text("convs"),
               ", \"wrong\": [{\"op\": \"Add\", \"float\": true, \"times\": 0.0001}]");
    assert_string_equal(r.node, "sum");
    assert_string_equal(r.form, "reads float, float, open dims");
}

TEST(a_difference_below_the_limits_is_none)
{
    /* 20 log10(1 / 0.1) = 20 dB; 0.5: 6 dB */
    assert_int_equal(
        verify(test_graph_text("convs"), ", \"wrong\": [{\"node\": \"two\", \"times\": 0.9}]")
            .verdict,
        QDQ_VERIFY_RIGHT);
    assert_int_equal(
        verify(test_graph_text("convs"), ", \"wrong\": [{\"node\": \"two\", \"times\": 0.5}]")
            .verdict,
        QDQ_VERIFY_WRONG);
}

TEST(what_is_lost_against_the_original_model_counts_and_no_inf_dB_is_told)
{
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_model *m = test_graph("convs");

    /* The graph as it is written keeps all, the engine 20 dB: more than 6 dB are lost. */
    o.original = m;
    qdq_verify_result r = verify_with(test_graph_text("convs"),
                                      ", \"wrong\": [{\"node\": \"two\", \"times\": 0.9}]", &o);
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_string_equal(r.node, "two");
    assert_true(fabs(r.engine_db - 20) < 0.1);
    assert_non_null(
        strstr(r.why, "has an SQNR of 20.0 dB, the graph as it is written has no error"));
    assert_int_equal(verify_with(test_graph_text("convs"), "", &o).verdict, QDQ_VERIFY_RIGHT);
    qdq_model_free(m);
}

TEST(where_the_plan_itself_is_noise_a_difference_proves_nothing)
{
    const char *plain = test_graph_text(__func__);
    static const char noise[] = ", \"error\": 0.4", half[] =
                                                        ", \"error\": 0.4, \"wrong\": [{\"node\": "
                                                        "\"two\", \"times\": 0.4}]";
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_model *m = test_model(plain);

    o.original = m;
    qdq_verify_result r = verify_with(test_graph_text("convs"), noise, &o);
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_string_equal(r.not_compared, "");
    /* Some 3 dB as the graph is written: an engine that is 4.4 dB from that need not be wrong, nor
     * is it right. */
    r = verify_with(test_graph_text("convs"), half, &o);
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_string_equal(r.output, "side");
    assert_non_null(strstr(r.not_compared, "output 'y': the graph as it is written has "));
    /* Without an original nobody knows that it is noise. */
    assert_int_equal(verify(test_graph_text("convs"), half).verdict, QDQ_VERIFY_WRONG);
    qdq_model_free(m);
}

TEST(a_form_with_open_dims_is_right_once_they_are_fixed)
{
    const qdq_input_shape fixed = {.name = "x", .rank = 4, .dim = {1, 1, 4, 4}};
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;

    assert_int_equal(
        verify(test_graph_text("convs"), ", \"wrong\": [{\"node\": \"two\", \"open\": true}]")
            .verdict,
        QDQ_VERIFY_WRONG);
    o.shapes = &fixed;
    o.n_shapes = 1;
    qdq_verify_result r = verify_with(test_graph_text("convs"),
                                      ", \"wrong\": [{\"node\": \"two\", \"open\": true}]", &o);
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_false(r.open);
}

TEST(a_form_that_is_gone_where_it_is_shown_is_found_all_the_same)
{
    /* A Conv that is shown has an output in float, and no kernel of that kind any more. */
    const char *chain = test_graph_text(__func__);
    const qdq_verify_result r = verify(
        chain,
        ", \"nodes\": {\"one\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": "
        "true}}, \"wrong\": [{\"node\": \"one\"}]");
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_string_equal(r.node, "one");
}

TEST(the_search_can_be_left_out)
{
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;

    o.no_search = true;
    const qdq_verify_result r =
        verify_with(test_graph_text("convs"), ", \"wrong\": [{\"node\": \"two\"}]", &o);
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_string_equal(r.node, "");
    assert_non_null(strstr(r.why, "its first wrong node was not found"));
}

TEST(a_failed_run_of_the_engine_is_an_error)
{
    qdq_model *m = test_graph("convs");
    qdq_engine *e = sim(", \"fail\": [{\"at\": \"run\", \"nth\": 2, \"message\": \"no luck\"}]");
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *r;
    qdq_data *d = NULL;

    assert_ok(qdq_data_open("random:1", m, NULL, &d, &err));
    assert_fails(QDQ_E_ENGINE, "no luck", qdq_verify_engine(m, e, d, NULL, &r, &err));
    o.first = 8;
    assert_fails(QDQ_E_USAGE, "samples 8 to 8, the data have 8",
                 qdq_verify_engine(m, e, d, &o, &r, &err));
    assert_null(r);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
}

TEST(a_failed_run_of_the_reference_is_no_verdict)
{
    const qdq_verify_result r =
        verify(test_graph_text("convs"),
               ", \"fail\": [{\"at\": \"run\", \"nth\": 1, \"message\": \"no luck\"}]");
    assert_int_equal(r.verdict, QDQ_VERIFY_UNKNOWN);
    assert_non_null(strstr(r.why, "no reference: sim 1 without optimizations: no luck"));
}

TEST(what_goes_back_to_float_is_the_form_or_the_nearest_codes_before_it)
{
    const char *chain = test_graph_text(__func__);
    static const qdq_verify_result of_relu = {.op = "Relu", .node = "last"},
                                   of_first = {.op = "Relu", .node = "first"},
                                   of_conv = {.op = "Conv",
                                              .node = "two",
                                              .form = "reads uint8, int8, read by Relu"};
    qdq_model *m = test_model(chain);
    const char **labels;
    size_t n;

    assert_ok(qdq_verify_equivalent(m, &of_relu, false, &labels, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(labels[0], "two");
    qdq_free(labels);
    assert_ok(qdq_verify_equivalent(m, &of_relu, true, &labels, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(labels[1], "one");
    qdq_free(labels);
    /* a Q stands behind it for `two` */
    assert_ok(qdq_verify_equivalent(m, &of_first, true, &labels, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(labels[0], "one");
    assert_string_equal(labels[1], "two");
    qdq_free(labels);
    assert_ok(qdq_verify_equivalent(m, &of_conv, false, &labels, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(labels[0], "one");
    qdq_free(labels);
    qdq_model_free(m);
}

TEST(mistakes_in_a_wrong_form_are_named)
{
    static const char *const bad[][2] = {
        {"{}", "wrong[0]: neither 'op' nor 'node'"},
        {"{\"op\": \"Conv\", \"reads\": \"Add\"}", "wrong[0]: unknown key 'reads'"},
        {"{\"op\": \"Conv\", \"times\": -1}", "wrong[0], key 'times': expected a number from 0"},
    };
    char json[300];
    qdq_engine *e = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(json, sizeof json, "{\"qdq_sim\": 1, \"wrong\": [%s]}", bad[i][0]);
        assert_fails(QDQ_E_FORMAT, bad[i][1], qdq_engine_open(test_sim_spec(json), NULL, &e, &err));
    }
}
