/* The key `times` of a plan: what a search took from a clock is read back as it was written. */
#include "quant/plan/plan_times.h"
#include "support/test.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PLAN(times)                                                                                \
    "{\"qdq_plan\": 1, \"model\": \"m\", \"target\": \"t\", \"created_by\": \"\", \"clean\": "     \
    "\"\",\n"                                                                                      \
    "\"opset\": 0, \"placement_only\": false, \"times\": " times                                   \
    ", \"tensors\": [], \"weights\": [],\n"                                                        \
    "\"biases\": [], \"quantized\": [], \"left_float\": []}"

static qdq_error err;

TEST(times_are_read_back_as_they_were_written)
{
    qdq_plan *p = qdq_plan_new(), *back = NULL;
    qdq_plan_times t = {"a processor, 2 cores", "ort-cpu", HASH, 7, 1234.56, 0.1, {0}, {0}, 2};
    qdq_arena arena = QDQ_ARENA_INIT;
    char *text[2];

    assert_non_null(p);
    p->model = p->target = p->created_by = p->clean = "";
    assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){"conv \"1\"", 100.01, 1e-3, {0}})));
    assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){"fc", 0, 1.0 / 3, {0.25, 0}})));
    assert_true(QDQ_PUSH(&arena, &t.timed, ((qdq_trial_time){3, 12.5})));
    assert_true(QDQ_PUSH(&arena, &t.timed, ((qdq_trial_time){5, 9})));
    assert_true(qdq_plan_set_times(p, &t));
    assert_ok(qdq_plan_to_text(p, &text[0], &err));
    assert_ok(qdq_plan_parse(text[0], strlen(text[0]), "plan", &back, &err));
    assert_string_equal(back->times.processor, "a processor, 2 cores");
    assert_string_equal(back->times.target_sha256, HASH);
    assert_int_equal(back->times.trials, 7);
    assert_true(back->times.float_us == 1234.56 && back->times.eight_us == 0.1);
    assert_int_equal(back->times.layers.n, 2);
    assert_string_equal(back->times.layers.at[0].node, "conv \"1\"");
    assert_true(back->times.layers.at[1].eight_us == 1.0 / 3);
    assert_true(back->times.layers.at[1].other_us[0] == 0.25);
    assert_true(back->times.layers.at[1].other_us[1] == 0);
    assert_int_equal(back->times.other_trials, 2);
    assert_int_equal(back->times.timed.n, 2);
    assert_int_equal(back->times.timed.at[1].trial, 5);
    assert_true(back->times.timed.at[0].us == 12.5);
    assert_ok(qdq_plan_to_text(back, &text[1], &err));
    assert_string_equal(text[0], text[1]);
    for (int i = 0; i < 2; i++)
        qdq_free(text[i]);
    qdq_arena_free(&arena);
    qdq_plan_free(p);
    qdq_plan_free(back);
}

TEST(a_layer_whose_name_is_no_utf8_is_no_lack_of_memory)
{
    qdq_plan *p = qdq_plan_new();
    qdq_plan_times t = {"p", "ort-cpu", HASH, 7, 1234.56, 0.1, {0}, {0}, 2};
    qdq_arena arena = QDQ_ARENA_INIT;
    char *text;

    assert_non_null(p);
    p->model = p->target = p->created_by = p->clean = "";
    assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){"caf\xe9", 1, 2, {0}})));
    assert_true(qdq_plan_set_times(p, &t));
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_non_null(strstr(text, "\"node\": \"caf?\""));
    qdq_free(text);
    qdq_arena_free(&arena);
    qdq_plan_free(p);
}

TEST(a_plan_without_times_has_no_such_key)
{
    qdq_plan *p = qdq_plan_new();
    char *text;

    assert_non_null(p);
    p->model = p->target = p->created_by = p->clean = "";
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_null(strstr(text, "times"));
    qdq_free(text);
    qdq_plan_free(p);
}

static void assert_refused(const char *text, const char *why)
{
    qdq_plan *p = NULL;

    assert_fails(QDQ_E_FORMAT, why, qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_null(p);
}

static void assert_others_refused(const char *others, const char *why)
{
    char text[1000];

    snprintf(text, sizeof text,
             PLAN("{\"processor\": \"p\", \"target\": \"t\", \"target_sha256\": \"" HASH
                  "\", \"trials\": 1, \"float_us\": 1, \"layers\": [{\"node\": \"n\", "
                  "\"float_us\": 1, \"quantized_us\": 1, \"other_us\": %s}]}"),
             others);
    assert_refused(text, why);
}

TEST(mistakes_in_times_of_other_formats_have_their_place)
{
    assert_others_refused("[1]", "key 'other_us': expected a list of 2 numbers");
    assert_others_refused("5", "key 'other_us': expected a list of 2 numbers");
    assert_others_refused("[1, \"a\"]", "key 'other_us': expected numbers from 0 to 1e12");
    assert_others_refused("[1, -1]", "key 'other_us': expected numbers from 0 to 1e12");
    assert_others_refused("[1e13, 0]", "key 'other_us': expected numbers from 0 to 1e12");
}

TEST(mistakes_in_times_have_their_place)
{
    assert_refused(
        PLAN("{\"processor\": \"p\", \"target\": \"t\", \"target_sha256\": \"12\", \"trials\": 1}"),
        "key 'target_sha256': expected 64 hexadecimal digits");
    assert_refused(PLAN("{\"processor\": \"p\", \"target\": \"t\", \"target_sha256\": \"" HASH
                        "\", \"trials\": 0}"),
                   "key 'trials'");
    assert_refused(PLAN("{\"processor\": \"p\", \"target\": \"t\", \"target_sha256\": \"" HASH
                        "\", \"trials\": 1, "
                        "\"layers\": [{\"node\": \"n\", \"float_us\": 1, \"quantized_us\": 1}]}"),
                   "key 'float_us': expected a number above 0, as there are times of layers");
    assert_refused(PLAN("{\"target\": \"t\", \"target_sha256\": \"" HASH "\", \"trials\": 1}"),
                   "key 'processor'");
}
