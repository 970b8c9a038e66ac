/* ir_check_domain.c - numbers in attributes that end engines are found before an engine sees them;
 * right ones are not. */
#include "ir/graph_check.h"
#include "support/test.h"

#define HEAD(opset) "<ir_version: 9, opset_import: [\"\" : " #opset "]>\n"

/* A node that reads inputs and constants. */
static qdq_model *one_node(const char *inputs, const char *constants, const char *node)
{
    char text[2000];

    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 18, \"my\" : 1]>\ng (%s) => (y) <%s> {\n  [n] "
             "%s\n}\n",
             inputs, constants, node);
    return test_model(text);
}

/* The first error, or "". */
static const char *error_with(const char *inputs, const char *constants, const char *node)
{
    static char text[1000];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = one_node(inputs, constants, node);
    qdq_finding *f = NULL;
    size_t n = 0;

    text[0] = '\0';
    assert_ok(qdq_model_check(m, &f, &n, &err));
    for (size_t i = 0; i < n && text[0] == '\0'; i++)
        if (f[i].is_error)
            snprintf(text, sizeof text, "%s", f[i].text);
    /* what the engines' door says is the same */
    if (text[0] == '\0')
        assert_ok(qdq_model_check_domains(m, &err));
    else
        assert_fails(QDQ_E_FORMAT, text, qdq_model_check_domains(m, &err));
    assert_ok(qdq_model_verify(m, &err)); /* such a model can be copied and mended */
    qdq_free(f);
    qdq_model_free(m);
    return text;
}

static const char *error_of(const char *inputs, const char *node)
{
    return error_with(inputs, "", node);
}

#define X4 "float[1,8,6,6] x"

TEST(attributes_that_end_engines_are_errors)
{
    static const struct {
        const char *inputs, *node, *error;
    } cases[] = {
        {X4, "y = DepthToSpace <blocksize = 4294967296> (x)",
         "node 'n': attribute 'blocksize' of DepthToSpace is 4294967296; expected 1 to 32768"},
        {X4, "y = DepthToSpace <blocksize = 0> (x)", "is 0; expected 1 to 32768"},
        {X4, "y = DepthToSpace <blocksize = 3> (x)",
         "attribute 'blocksize' of DepthToSpace is 3; expected 9 to divide dim 1, 8"},
        {X4, "y = SpaceToDepth <blocksize = 4> (x)", "is 4; expected 4 to divide dim 2, 6"},
        {X4 ", int64[1,1] i", "y = GatherND <batch_dims = -9223372036854775808> (x, i)",
         "attribute 'batch_dims' of GatherND is -9223372036854775808; expected 0 to 3"},
        {X4 ", int64[1] i", "y = Gather <axis = 4> (x, i)",
         "attribute 'axis' of Gather is 4; expected -4 to 3"},
        {"float[N] x, int64[1] i", "y = Gather <axis = -2> (x, i)", "is -2; expected -1 to 0"},
        {X4, "y = Flatten <axis = 5> (x)", "is 5; expected -5 to 4"},
        {X4, "y = Softmax <axis = 2147483648> (x)", "attribute 'axis' of Softmax is 2147483648"},
        {X4, "y = Transpose <perm = [0, 1, 2, 2]> (x)",
         "attribute 'perm' of Transpose has 4 entries; expected each"},
        {X4, "y = Transpose <perm = [0, 1, 2]> (x)", "has 3 entries; expected each of 0 to 3 once"},
        {X4, "t = Relu(x) y = Transpose <perm = [0, 9]> (t)", "is no permutation of its 2 entries"},
        {X4, "y = MaxPool <kernel_shape = [0, 2]> (x)",
         "attribute 'kernel_shape' of MaxPool is 0; expected 1 to"},
        {X4, "y = MaxPool <kernel_shape = [2, 2], strides = [1, 0]> (x)",
         "attribute 'strides' of MaxPool is 0"},
        {X4, "y = MaxPool <kernel_shape = [2, 2], strides = [1]> (x)",
         "'strides' of MaxPool has 1 entries; expected 2"},
        {X4, "y = AveragePool <kernel_shape = [2, 2], pads = [1, 1]> (x)",
         "'pads' of AveragePool has 2 entries"},
        {X4, "y = MaxPool <kernel_shape = [2, 2], pads = [9223372036854775807, 0, 0, 0]> (x)",
         "attribute 'pads'"},
        {X4, "y = MaxPool <kernel_shape = [2, 2], ceil_mode = 7> (x)",
         "'ceil_mode' of MaxPool is 7; expected 0 to 1"},
        {X4 ", float[6,8,1,1] w", "y = Conv <group = 0> (x, w)",
         "attribute 'group' of Conv is 0; expected 1 to"},
        {X4 ", float[6,8,1,1] w", "y = Conv <group = 4> (x, w)",
         "attribute 'group' of Conv is 4; expected a divisor of 6, the output channels of its "
         "weight"},
        {X4 ", float[6,8,1,1] w", "y = Conv <dilations = [1, -1]> (x, w)",
         "attribute 'dilations' of Conv is -1"},
        {X4 ", float[6,8,1,1] w", "y = Conv <kernel_shape = [1, 1, 1]> (x, w)",
         "has 3 entries; expected 2"},
        {X4, "y = Cast <to = 999> (x)", "attribute 'to' of Cast is 999; expected an element type"},
        {X4, "y = Cast <to = 0> (x)", "attribute 'to' of Cast is 0; expected an element type"},
        {X4, "y = ReduceMean <axes = [1, 7]> (x)",
         "attribute 'axes' of ReduceMean is 7; expected -4 to 3"},
        {X4, "y = ReduceMean <keepdims = 2> (x)",
         "attribute 'keepdims' of ReduceMean is 2; expected 0 to 1"},
        {X4, "y = Scan <num_scan_inputs = 268435456, body = b (s) => (t) { t = Neg(s) }> (x)",
         "attribute 'num_scan_inputs' of Scan is 268435456; expected 1 to 1, as it has inputs"},
        {X4, "y = LRN <size = 0> (x)", "attribute 'size' of LRN is 0; expected 1 to"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const char *error = error_of(cases[i].inputs, cases[i].node);

        if (strstr(error, cases[i].error) == NULL)
            fail_msg("%s: '%s' does not have '%s'", cases[i].node, error, cases[i].error);
    }
}

TEST(attributes_at_their_ends_are_no_errors)
{
    static const char *const cases[] = {
        "y = DepthToSpace <blocksize = 2> (x)",
        "y = SpaceToDepth <blocksize = 3> (x)",
        "y = Flatten <axis = 4> (x)",
        "y = Flatten <axis = -4> (x)",
        "y = Softmax <axis = -4> (x)",
        "y = Transpose <perm = [3, 2, 1, 0]> (x)",
        "y = MaxPool <kernel_shape = [2147483647, 1], strides = [2147483647, 1]> (x)",
        "y = Cast <to = 1> (x)",
        "y = ReduceMean <axes = [-4, 3], keepdims = 0> (x)",
        "y = Concat <axis = -1> (x, x)",
        "y = my.Op <axis = 99999999, blocksize = 0> (x)",
        "y = QuantizeLinear <axis = 1> (x, x)",
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const char *error = error_of(X4, cases[i]);

        if (error[0] != '\0')
            fail_msg("%s: '%s'", cases[i], error);
    }
}

/* What a node inside reads may have any shape; what its numbers may be is the same everywhere. */
TEST(constant_inputs_that_end_engines_are_errors)
{
    static const struct {
        const char *constant, *node, *error;
    } cases[] = {
        {"int64[8] v = {0, 0, 0, 0, 0, 0, -2147483648, 0}", "y = Pad (x, v)",
         "node 'n': input 1 of Pad is -2147483648; expected -2147483647 to 2147483647"},
        {"int64 v = {0}", "y = DFT (x, v)", "input 1 of DFT is 0; expected 1 to 2147483647"},
        {"int64 v = {0}", "y = STFT (x, v)", "input 1 of STFT is 0; expected 1 to 2147483647"},
        {"int64 v = {-5}", "y = STFT (x, x, x, v)",
         "input 3 of STFT is -5; expected 1 to 2147483647"},
        {"int64[1,2] v = {0, -4294967296}", "y = GatherND (x, v)",
         "input 1 of GatherND is -4294967296"},
        {"int32[1,1,1,1] v = {-2147483648}", "y = ScatterElements (x, v, x)",
         "input 1 of ScatterElements is -2147483648"},
        {"int64[1] v = {1099511627776}", "y = CenterCropPad (x, v)",
         "input 1 of CenterCropPad is 1099511627776; expected 0 to 2147483647"},
        {"int64 v = {2147483647}", "y = BlackmanWindow (v)",
         "input 0 of BlackmanWindow is 2147483647; expected 0 to 16777216"},
        {"int64 v = {0}", "y = SplitToSequence (x, v)",
         "input 1 of SplitToSequence is 0; expected 1 to"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const char *error = error_with(X4, cases[i].constant, cases[i].node);

        if (strstr(error, cases[i].error) == NULL)
            fail_msg("%s: '%s' does not have '%s'", cases[i].node, error, cases[i].error);
    }
}

TEST(constant_inputs_within_their_bounds_are_no_errors)
{
    static const struct {
        const char *constant, *node;
    } cases[] = {
        {"int64[8] v = {0, 0, -1, -1, 0, 0, 2147483647, 0}", "y = Pad (x, v)"},
        {"int64[1,2] v = {0, -8}", "y = GatherND (x, v)"},
        {"int64[2] v = {0, 8}", "y = SplitToSequence (x, v)"},
        {"int64 v = {16777216}", "y = HannWindow (v)"},
        {"float v = {-1}", "y = DFT (x, v)"}, /* is an error of types, which is found elsewhere */
        {"int64 v = {0}", "y = my.DFT (x, v)"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const char *error = error_with(X4, cases[i].constant, cases[i].node);

        if (error[0] != '\0')
            fail_msg("%s: '%s'", cases[i].node, error);
    }
}

TEST(bodies_are_looked_into)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(HEAD(17) "g (bool c, float[1,8,6,6] x) => (y) {\n"
                                       "  y = If(c) <then_branch = t () => (a) {\n"
                                       "    [inner] a = DepthToSpace <blocksize = 0> (x)\n"
                                       "  }, else_branch = e () => (b) { b = Relu(x) }>\n"
                                       "}\n");

    assert_fails(QDQ_E_FORMAT, "graph 't': node 'inner': attribute 'blocksize'",
                 qdq_model_check_domains(m, &err));
    qdq_model_free(m);
}

#define LOOP(trips, go, next)                                                                      \
    HEAD(17)                                                                                       \
    "g (float[2] x, bool d, int64 m) => (y) <int64 few = {5}, int64 less = {-1}, int64 many = "    \
    "{4611686018427387904}, "                                                                      \
    "bool yes = {1}> {\n  [l] y = Loop (" trips ", " go                                            \
    ", x) <body = b (int64 i, bool go, s) => (" next                                               \
    ", t) { same = Identity(go) big = Not(go) t = Neg(s) }>\n}\n"

TEST(a_loop_that_no_condition_ends_is_an_error)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {LOOP("\"\"", "yes", "same"),
         "node 'l': Loop has no trip count and a condition that stays true; expected an end"},
        {LOOP("\"\"", "\"\"", "go"), "Loop has no trip count"},
        {LOOP("many", "\"\"", "same"),
         "node 'l': Loop has a trip count of 4611686018427387904 and a condition"},
        {LOOP("less", "\"\"", "same"),
         "trip count of -1 and a condition that stays true; expected 0 to 16777216"},
        {LOOP("few", "yes", "same"), ""},
        {LOOP("m", "yes", "same"), ""},
        {LOOP("many", "d", "same"), ""},
        {LOOP("many", "yes", "big"), ""},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_model *m = test_model(cases[i].text);

        if (cases[i].error[0] == '\0')
            assert_ok(qdq_model_check_domains(m, &err));
        else
            assert_fails(QDQ_E_FORMAT, cases[i].error, qdq_model_check_domains(m, &err));
        qdq_model_free(m);
    }
}

/* --- functions -------------------------------------------------------------------------------- */

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

/* --- engines ---------------------------------------------------------------------------------- */

TEST(no_engine_is_handed_such_a_model)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = one_node(X4, "", "y = DepthToSpace <blocksize = 4294967296> (x)");
    qdq_engine *e = NULL;
    qdq_session *s = NULL;

    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    assert_fails(QDQ_E_FORMAT,
                 "engine 'sim': node 'n': attribute 'blocksize' of DepthToSpace is 4294967296",
                 qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
    qdq_model_free(m);
}
