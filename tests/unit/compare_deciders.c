/* Outputs whose shape depends on data: what decides it is found and compared in their place. */
#include <math.h>

#include "quant/compare/deciders.h"
#include "support/test.h"

static qdq_error err;

/* The names that decide, separated by spaces. */
static const char *deciders(const char *text, bool *follows)
{
    static char names[300];
    qdq_model *m = test_model(text);
    qdq_deciders d;

    assert_ok(qdq_deciders_find(m, NULL, &d, &err));
    names[0] = '\0';
    for (size_t i = 0; i < d.names.n; i++) {
        const size_t used = strlen(names);

        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? " " : "", d.names.at[i]);
    }
    for (size_t i = 0; follows != NULL && i < m->graph->outputs.n; i++)
        follows[i] = d.follows[i];
    qdq_deciders_free(&d);
    qdq_model_free(m);
    return names;
}

TEST(durations_decide_the_length_of_speech)
{
    bool follows[2];

    assert_string_equal(deciders(test_graph_text("speech"), follows), "c");
    assert_true(follows[0] && !follows[1]);
}

TEST(shape_arithmetic_in_floats_decides_nothing)
{
    bool follows[1];

    assert_string_equal(deciders(test_graph_text(__func__), follows), "");
    assert_false(follows[0]);
}

TEST(integers_that_are_inputs_decide_nothing)
{
    assert_string_equal(deciders(test_graph_text(__func__), NULL), "");
}

TEST(scores_decide_how_many_are_found)
{
    assert_string_equal(deciders(test_graph_text(__func__), NULL), "t");
}

/* What is found is put back into a tensor whose shape is known. */
TEST(places_that_are_written_to_do_not_decide_the_shape)
{
    assert_string_equal(deciders(test_graph_text(__func__), NULL), "");
}

/* --- comparing -------------------------------------------------------------------------------- */

static qdq_compare_result *compared(const char *a, const char *b)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(a), *n = test_model(b);
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    assert_ok(qdq_data_open("random:1", m, NULL, &d, &err));
    assert_ok(qdq_compare(e, m, n, d, NULL, &r, &err));
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(n);
    return r;
}

TEST(what_decides_is_compared_in_place_of_what_follows)
{
    qdq_compare_result *r = compared(test_graph_text("speech"), test_graph_text("speech"));

    if (r == NULL)
        return;
    assert_int_equal(r->n_outputs, 2);
    assert_string_equal(r->outputs[0].name, "z");
    assert_string_equal(r->outputs[1].name, "c");
    assert_true(isinf(r->outputs[1].sqnr_db) && !r->outputs[1].other_shape);
    qdq_free(r);
}

TEST(an_output_of_another_length_is_the_worst_and_no_error)
{
    qdq_compare_result *r =
        compared(test_graph_text("speech"), test_graph_text("stretched_speech"));

    if (r == NULL)
        return;
    assert_int_equal(r->n_outputs, 3);
    assert_string_equal(r->outputs[0].name, "y");
    assert_true(r->outputs[0].other_shape && r->worst == 0);
    assert_true(isinf(r->worst_db) && r->worst_db < 0 && isinf(r->bound_db) && r->bound_db < 0);
    assert_true(isfinite(r->outputs[2].sqnr_db));
    qdq_free(r);
}
