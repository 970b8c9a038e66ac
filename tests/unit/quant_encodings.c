/* quant_encodings.c - AIMET's encodings as plans: both forms of the file, and every mistake in
 * it. */
#include "quant/plan/plan.h"
#include "support/test.h"

typedef struct recorded_lines {
    char text[2000];
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    (void)level;
    strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
}

static qdq_status parse(const char *text, qdq_plan **p, recorded_lines *h, qdq_error *err)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = test_graph("model");

    memset(h, 0, sizeof *h);
    job.ctx = h;
    job.log = record_line;
    opts.job = &job;
    qdq_status st = qdq_plan_parse_encodings(text, strlen(text), "file", m, &opts, p, err);
    qdq_model_free(m);
    return st;
}

#define INT8(offset, symmetric)                                                                    \
    "{\"bitwidth\": 8, \"dtype\": \"int\", \"is_symmetric\": \"" symmetric                         \
    "\", \"max\": 1.0, \"min\": -1.0, \"offset\": " offset ", \"scale\": 0.5}"

static const char old_form[] = "{\"version\": \"0.6.1\", \"activation_encodings\": {\"x\": [" INT8(
    "-114",
    "False") "], \"y\": [{\"bitwidth\": 16, "
             "\"dtype\": \"float\"}]},\n"
             " \"param_encodings\": {\"w\": [" INT8("-128", "True") ", " INT8(
                 "-127",
                 "True") "],\n"
                         "  \"b\": [{\"bitwidth\": 32, \"dtype\": \"int\", \"is_symmetric\": "
                         "\"True\", \"offset\": -2147483648, \"scale\": 0.1}]},\n"
                         " \"quantizer_args\": {\"quant_scheme\": \"post_training_tf\"}}";

static const char new_form[] =
    "{\"version\": \"1.0.0\", \"activation_encodings\": [\n"
    "  {\"name\": \"x\", \"enc_type\": \"PER_TENSOR\", \"dtype\": \"INT\", \"bw\": 8, \"is_sym\": "
    "false, "
    "\"scale\": [0.5], "
    "\"offset\": [-114]},\n"
    "  {\"name\": \"y\", \"enc_type\": \"PER_TENSOR\", \"dtype\": \"FLOAT\", \"bw\": 16}],\n"
    " \"param_encodings\": [\n"
    "  {\"name\": \"w\", \"enc_type\": \"PER_CHANNEL\", \"dtype\": \"INT\", \"bw\": 8, \"is_sym\": "
    "true, "
    "\"scale\": [0.5, 0.5], "
    "\"offset\": [-128, -128]},\n"
    "  {\"name\": \"b\", \"enc_type\": \"PER_TENSOR\", \"dtype\": \"INT\", \"bw\": 32, \"is_sym\": "
    "true, "
    "\"scale\": [0.1], "
    "\"offset\": [-2147483648]}]}";

TEST(both_forms_give_the_same_plan_which_applies)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("model"), *q = NULL;
    char *text[2];
    recorded_lines h;

    for (int i = 0; i < 2; i++) {
        qdq_plan *p = NULL;

        assert_ok(parse(i == 0 ? old_form : new_form, &p, &h, &err));
        assert_string_equal(h.text, "");
        assert_int_equal(p->tensors.n, 1);
        assert_int_equal(p->tensors.at[0].qparam.type, QDQ_UINT8);
        assert_int_equal(p->tensors.at[0].qparam.zero_point, 114);
        assert_true(p->tensors.at[0].qparam.scale == 0.5f && p->tensors.at[0].all);
        assert_int_equal(p->weights.n, 1);
        assert_int_equal(p->weights.at[0].type, QDQ_INT8);
        assert_int_equal(p->weights.at[0].axis, 0);
        assert_int_equal(p->weights.at[0].n_scales, 2);
        assert_null(p->weights.at[0].zero_points);
        assert_int_equal(p->biases.n, 1);
        assert_string_equal(p->biases.at[0].activation, "x");
        assert_ok(qdq_plan_apply(p, m, false, NULL, &q, &err));
        qdq_model_free(q);
        assert_ok(qdq_plan_to_text(p, &text[i], &err));
        qdq_plan_free(p);
    }
    assert_string_equal(text[0], text[1]);
    qdq_free(text[0]);
    qdq_free(text[1]);
    qdq_model_free(m);
}

static void assert_mistake(qdq_status code, const char *part, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    recorded_lines h;

    assert_fails(code, part, parse(text, &p, &h, &err));
    assert_null(p);
}

#define ACTIVATION(list) "{\"activation_encodings\": {\"x\": " list "}}"
#define LISTED(entry)    "{\"version\": \"1.0.0\", \"activation_encodings\": [" entry "]}"

TEST(mistakes_are_reported_with_their_place)
{
    assert_mistake(QDQ_E_FORMAT, "file", "{\"version\": ");
    assert_mistake(QDQ_E_FORMAT, "found no object", "[1]");
    assert_mistake(QDQ_E_FORMAT, "neither 'activation_encodings' nor", "{\"version\": \"1.0.0\"}");
    assert_mistake(QDQ_E_UNSUPPORTED, "found '2.0.0', expected 0.4.0 to 1.0.0",
                   "{\"version\": \"2.0.0\"}");
    assert_mistake(QDQ_E_FORMAT, "activation_encodings 'x'", ACTIVATION("1"));
    assert_mistake(QDQ_E_FORMAT, "found no list of encodings", ACTIVATION("[]"));
    assert_mistake(QDQ_E_FORMAT, "activation_encodings 'x'[0]", ACTIVATION("[7]"));
    assert_mistake(QDQ_E_FORMAT, "key 'bitwidth'", ACTIVATION("[{\"scale\": 1, \"offset\": 0}]"));
    assert_mistake(QDQ_E_FORMAT, "key 'scale': expected a finite number above 0",
                   ACTIVATION("[{\"bitwidth\": 8, \"offset\": 0, \"scale\": 0}]"));
    assert_mistake(QDQ_E_FORMAT, "key 'scale'",
                   ACTIVATION("[{\"bitwidth\": 8, \"offset\": 0, \"scale\": 1e300}]"));
    assert_mistake(QDQ_E_FORMAT, "key 'offset'",
                   ACTIVATION("[{\"bitwidth\": 8, \"offset\": 3, \"scale\": 1}]"));
    assert_mistake(QDQ_E_FORMAT, "key 'offset'",
                   ACTIVATION("[{\"bitwidth\": 8, \"offset\": -1.5, \"scale\": 1}]"));
    assert_mistake(QDQ_E_FORMAT, "key 'offset'",
                   ACTIVATION("[{\"bitwidth\": 8, \"offset\": -256, \"scale\": 1}]"));
    assert_mistake(QDQ_E_FORMAT, "codes of 5 bits",
                   ACTIVATION("[{\"bitwidth\": 5, \"offset\": 0, \"scale\": 1}]"));
    assert_mistake(QDQ_E_FORMAT, "another type than that of the channels before it",
                   ACTIVATION("[" INT8("-128", "True") ", " INT8("-128", "False") "]"));
    assert_mistake(QDQ_E_FORMAT, "channels with and without sign",
                   ACTIVATION("[" INT8("-128", "True") ", " INT8("0", "True") "]"));
    assert_mistake(QDQ_E_FORMAT, "key 'is_symmetric'", ACTIVATION("[" INT8("-128", "Perhaps") "]"));
    assert_mistake(QDQ_E_FORMAT, "key 'name'",
                   LISTED("{\"bw\": 8, \"scale\": [1], \"offset\": [0]}"));
    assert_mistake(QDQ_E_FORMAT, "key 'offset'",
                   LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1], \"offset\": []}"));
    assert_mistake(QDQ_E_FORMAT, "as the encoding is PER_TENSOR",
                   LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1, 2], \"offset\": [0, 0]}"));
    assert_mistake(QDQ_E_FORMAT, "0 scales",
                   LISTED("{\"name\": \"x\", \"enc_type\": \"PER_CHANNEL\", \"bw\": 8, \"scale\": "
                          "[], \"offset\": []}"));
    assert_mistake(QDQ_E_UNSUPPORTED, "encoding 'PER_BLOCK'",
                   LISTED("{\"name\": \"x\", \"enc_type\": \"PER_BLOCK\", \"bw\": 8, \"scale\": "
                          "[1], \"offset\": [0]}"));
    assert_mistake(QDQ_E_FORMAT, "none of its 1 tensors is in the model: 'z'",
                   LISTED("{\"name\": \"z\", \"bw\": 8, \"scale\": [1], \"offset\": [0]}"));
}

static void assert_said(const char *part, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    recorded_lines h;

    assert_ok(parse(text, &p, &h, &err));
    if (strstr(h.text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, h.text);
    qdq_plan_free(p);
}

TEST(what_has_no_place_in_a_plan_is_listed)
{
    assert_said("file: 1 tensor is not in the model: 'z'",
                "{\"activation_encodings\": {\"x\": [" INT8("0", "False") "], \"z\": [" INT8(
                    "0", "False") "]}}");
    assert_said("activation_encodings 'x' is not in the plan: it has several scales",
                ACTIVATION("[" INT8("0", "False") ", " INT8("0", "False") "]"));
    assert_said("its tensor is not a constant",
                "{\"param_encodings\": {\"x\": [" INT8("0", "False") "]}}");
    assert_said("it has not one scale for each channel",
                "{\"param_encodings\": {\"w\": [" INT8("0", "False") ", " INT8(
                    "0", "False") ", " INT8("0", "False") "]}}");
    assert_said(
        "its codes have 32 bits, and it is not a bias",
        "{\"param_encodings\": {\"b\": [{\"bitwidth\": 32, \"is_symmetric\": \"True\", \"offset\": "
        "-2147483648, "
        "\"scale\": 0.1}]}}");
}

TEST(codes_of_other_widths_raise_the_opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    recorded_lines h;

    assert_ok(parse(
        ACTIVATION(
            "[{\"bitwidth\": 16, \"is_symmetric\": false, \"offset\": -32768, \"scale\": 0.1}]"),
        &p, &h, &err));
    assert_int_equal(p->tensors.at[0].qparam.type, QDQ_UINT16);
    assert_int_equal(p->opset, 21);
    qdq_plan_free(p);
}

TEST(a_file_that_is_not_there_is_said)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("model");
    qdq_plan *p = NULL;

    assert_fails(QDQ_E_IO, "missing.json",
                 qdq_plan_load_encodings("missing.json", m, NULL, &p, &err));
    qdq_model_free(m);
}
