/* trt_args.c - options of trtexec: split, checked, completed, without a run. */
#include "engine/trt/trt_tool.h"
#include "support/test.h"

static qdq_error err;
static qdq_arena arena;

static int clean(void **state)
{
    (void)state;
    qdq_arena_free(&arena);
    return 0;
}

/* --- words ------------------------------------------------------------------------------------ */

TEST(arguments_are_split_without_a_shell)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"--a --b=c", "--a|--b=c|"},
                 {"  --a\t\n", "--a|"},
                 {"", ""},
                 {"--a='x y' --b=\"p \\\" q\"", "--a=x y|--b=p \" q|"},
                 {"--a='x\\y'", "--a=x\\y|"},
                 {"--a=\\ b", "--a= b|"},
                 {"--a=$(reboot) `x` ; * > f", "--a=$(reboot)|`x`|;|*|>|f|"},
                 {"''", "|"},
                 {"a\\", "a\\|"}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char got[200] = "";
        const char **argv;
        size_t n;
        assert_ok(qdq_trt_split(cases[i].text, &arena, &argv, &n, &err));
        for (size_t k = 0; k < n; k++) {
            strncat(got, argv[k], 50);
            strncat(got, "|", 2);
        }
        assert_string_equal(got, cases[i].want);
        assert_null(argv[n]);
    }
    const char **argv;
    size_t n;
    assert_fails(QDQ_E_USAGE, "the quote at byte 5 of '--a='x' is not closed",
                 qdq_trt_split("--a='x", &arena, &argv, &n, &err));
}

/* --- shapes ----------------------------------------------------------------------------------- */

TEST(shapes_are_read_as_trtexec_reads_them)
{
    qdq_trt_shapes s;
    const char *text;

    assert_ok(qdq_trt_shapes_parse("'in:0':1x3x8x8,s:scalar,input:0:2x5,e:", &arena, &s, &err));
    assert_int_equal(s.n, 4);
    assert_string_equal(s.at[0].name, "in:0");
    assert_int_equal(s.at[0].rank, 4);
    assert_int_equal(s.at[0].dim[3], 8);
    assert_int_equal(s.at[1].rank, 0);
    assert_string_equal(s.at[2].name, "input:0");
    assert_int_equal(s.at[2].dim[1], 5);
    assert_int_equal(s.at[3].rank, 0);
    assert_ok(qdq_trt_shapes_print(&s, &arena, &text, &err));
    assert_string_equal(text, "'in:0':1x3x8x8,s:scalar,'input:0':2x5,e:scalar");
    s.at[0].name = "a,b";
    assert_fails(QDQ_E_UNSUPPORTED, "takes no name with a comma",
                 qdq_trt_shapes_print(&s, &arena, &text, &err));
}

TEST(wrong_shapes_are_refused_with_their_entry)
{
    static const char *const texts[][2] = {
        {"a:1,t:2x*", "shape 't:2x*'"},
        {"a", "NAME:DIMS"},
        {":1x2", "NAME:DIMS"},
        {"a:1x", "shape 'a:1x'"},
        {"a:1,", "shape ''"},
        {"a:1,a:2", "each name once"},
        {"a:-1", "numbers"},
        {"'':1", "'NAME':DIMS"},
        {"a:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
         "fewer"}};
    qdq_trt_shapes s;

    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_fails(QDQ_E_USAGE, texts[i][1], qdq_trt_shapes_parse(texts[i][0], &arena, &s, &err));
}

TEST(ranges_are_checked_dimension_by_dimension)
{
    const qdq_trt_shape one = {"x", 1, {1}}, two = {"x", 1, {2}}, four = {"x", 1, {4}},
                        flat = {"x", 0, {0}};

    assert_ok(qdq_trt_range_check(&one, &two, &four, &err));
    assert_ok(qdq_trt_range_check(&two, &two, &two, &err));
    assert_fails(QDQ_E_USAGE, "expected equal ones", qdq_trt_range_check(&flat, &two, &four, &err));
    assert_fails(QDQ_E_USAGE, "dimension 0 is 4, 2 and 4",
                 qdq_trt_range_check(&four, &two, &four, &err));
    assert_fails(QDQ_E_USAGE, "expected min <= opt <= max",
                 qdq_trt_range_check(&one, &four, &two, &err));
}

TEST(options_of_users_are_checked_before_anything_runs)
{
    static const char *const texts[][2] = {
        {"--exportTimes=t.json", "--exportTimes is set by qdq"},
        {"--warmUp 5", "found '5'"},
        {"--fp16 --fp16", "--fp16 is there twice"},
        {"--shapes=a:1 --shapes=a:2", "--shapes is there twice"},
        {"--optShapes=a:x", "--optShapes: shape 'a:x'"},
        {"--minShapes=a:4 --optShapes=a:2", "expected min <= opt <= max"}};
    qdq_trt_user u;

    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_fails(QDQ_E_USAGE, texts[i][1], qdq_trt_user_parse(texts[i][0], &arena, &u, &err));
    assert_ok(qdq_trt_user_parse(
        "--fp16 --staticPlugins=a.so --staticPlugins=b.so --minShapes=x:1x2 --optShapes=x:2x2",
        &arena, &u, &err));
    assert_int_equal(u.args.n, 3);
    assert_true(u.weakly_typed);
    assert_int_equal(u.min.n, 1);
    assert_int_equal(u.opt.at[0].dim[0], 2);
}

/* For a part of a model, whose inputs have other names. */
TEST(options_without_shapes_are_read_as_they_were)
{
    static const char given[] = "--minShapes=x:1 --staticPlugins='my lib.so' --optShapes=x:2 "
                                "--dynamicPlugins=\"a'b\\\"c\" --fp16 --maxShapes=x:4";
    const char *text;
    qdq_trt_user before, after;

    assert_ok(qdq_trt_user_parse(given, &arena, &before, &err));
    assert_ok(qdq_trt_without_shapes(given, &arena, &text, &err));
    assert_ok(qdq_trt_user_parse(text, &arena, &after, &err));
    assert_int_equal(before.args.n, 3);
    assert_int_equal(after.args.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(after.args.at[i], before.args.at[i]);
    assert_int_equal(after.min.n + after.opt.n + after.max.n, 0);
    assert_ok(qdq_trt_without_shapes("--shapes=x:1", &arena, &text, &err));
    assert_string_equal(text, "");
}

/* What other engines take of such a text. */
TEST(shapes_in_options_are_listed)
{
    qdq_trtexec_shapes *x;

    assert_ok(qdq_trtexec_shapes_read("--minShapes='in:0':1x3 --optShapes='in:0':8x3 "
                                      "--maxShapes='in:0':16x3 --shapes=s:scalar,'in:0':2x3",
                                      &x, &err));
    assert_null(x->other);
    assert_int_equal(x->n_min, 1);
    assert_int_equal(x->n_opt, 2);
    assert_int_equal(x->n_max, 1);
    assert_string_equal(x->opt[0].name, "in:0");
    assert_int_equal(x->opt[0].dim[0], 8); /* not that of --shapes */
    assert_string_equal(x->opt[1].name, "s");
    assert_int_equal(x->opt[1].rank, 0);
    assert_int_equal(x->max[0].dim[0], 16);
    qdq_free(x);
    assert_ok(qdq_trtexec_shapes_read("--fp16 --warmUp=5", &x, &err));
    assert_int_equal(x->n_opt, 0);
    assert_string_equal(x->other, "--fp16");
    qdq_free(x);
    assert_fails(QDQ_E_USAGE, "--trtexec-args: --optShapes: shape 'x:1y'",
                 qdq_trtexec_shapes_read("--optShapes=x:1y", &x, &err));
    assert_null(x);
}

/* 3.3: by whole options. */
TEST(options_that_are_missing_are_completed)
{
    qdq_trtexec_shapes *x;

    assert_ok(qdq_trtexec_shapes_read("--minShapes=x:1 --maxShapes=x:4", &x, &err));
    assert_int_equal(x->opt[0].dim[0], 4);
    qdq_free(x);
    assert_ok(qdq_trtexec_shapes_read("--minShapes=x:2", &x, &err));
    assert_int_equal(x->opt[0].dim[0], 2);
    qdq_free(x);
    assert_ok(qdq_trtexec_shapes_read("--optShapes=y:2 --maxShapes=x:4", &x, &err));
    assert_int_equal(x->n_opt, 1); /* x has none: it is for who builds to say so */
    qdq_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(arguments_are_split_without_a_shell, clean),
        cmocka_unit_test_teardown(shapes_are_read_as_trtexec_reads_them, clean),
        cmocka_unit_test_teardown(wrong_shapes_are_refused_with_their_entry, clean),
        cmocka_unit_test_teardown(ranges_are_checked_dimension_by_dimension, clean),
        cmocka_unit_test_teardown(options_of_users_are_checked_before_anything_runs, clean),
        cmocka_unit_test_teardown(options_without_shapes_are_read_as_they_were, clean),
        cmocka_unit_test_teardown(shapes_in_options_are_listed, clean),
        cmocka_unit_test_teardown(options_that_are_missing_are_completed, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
