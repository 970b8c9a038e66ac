/* transformers_ort.c - transformers as exporters write them (support/transformer.h), two sizes of
 * each: cleaned, calibrated with sequences of several lengths, and compared on others. Goals and
 * other forms of quantization are in tests/cli/transformers. */
#include <math.h>
#include <sys/stat.h>

#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "qdq/pass.h"
#include "quant/plan/plan.h"
#include "support/transformer.h"

static qdq_error err;

static const test_transformer *const sizes[] = {&test_transformer_tiny, &test_transformer_small};

static const int64_t calib_lengths[] = {1, 5, 12, 24, -1}, test_lengths[] = {2, 9, 30, -1};

/* Warnings and errors of the library: these tests expect none of its engine. */
static void listen(void *ctx, qdq_log_level level, const char *text)
{
    if (level <= QDQ_LOG_WARNING && strstr(text, "onnxruntime") != NULL)
        *(int *)ctx += 1;
}

typedef struct setting {
    qdq_model *m;
    qdq_data *calib, *test;
    qdq_engine *e;
} setting;

static qdq_data *sequences(test_family f, const test_transformer *size, const qdq_model *m,
                           uint64_t seed, const int64_t *lengths)
{
    const test_sequences s = {seed, 8, 3, lengths};
    static int n;
    const char *folder = test_path("sequences.%d", n++);
    qdq_data *d = NULL;

    assert_int_equal(mkdir(folder, 0777), 0);
    assert_ok(test_sequences_write(f, size, &s, m, need_ort(), folder, &err));
    assert_ok(qdq_data_open(folder, m, NULL, &d, &err));
    return d;
}

static setting begin(test_family f, const test_transformer *size)
{
    setting s = {.m = test_transformer_model(f, size), .e = need_ort()};

    s.calib = sequences(f, size, s.m, 1, calib_lengths);
    s.test = sequences(f, size, s.m, 2, test_lengths);
    return s;
}

static void end(setting *s)
{
    qdq_data_close(s->calib);
    qdq_data_close(s->test);
    qdq_model_free(s->m);
}

static qdq_target *target(const char *name)
{
    qdq_target *t = NULL;

    assert_ok(qdq_target_load(name, &t, &err));
    return t;
}

typedef struct made {
    qdq_plan *p;
    qdq_model *q;
} made;

static made quantize(const setting *s, const qdq_quantize_opts *opts)
{
    qdq_target *t = target("ort-cpu");
    made out = {0};

    assert_ok(qdq_quantize(s->m, t, s->e, s->calib, opts, &out.p, &out.q, &err));
    qdq_target_free(t);
    return out;
}

static void made_free(made *a)
{
    qdq_plan_free(a->p);
    qdq_model_free(a->q);
}

static qdq_compare_result *compare(const setting *s, const qdq_model *q)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;

    o.scores = true;
    assert_ok(qdq_compare(s->e, s->m, q, s->test, &o, &r, &err));
    return r;
}

/* --- float ------------------------------------------------------------------------------------ */

TEST(cleaning_changes_no_output_of_any_length)
{
    static const char *const targets[] = {NULL, "ort-cpu"};

    for (int f = 0; f < TEST_FAMILIES; f++)
        for (size_t i = 0; i < QDQ_COUNT(sizes); i++)
            for (size_t k = 0; k < QDQ_COUNT(targets); k++) {
                setting s = begin((test_family)f, sizes[i]);
                qdq_optimize_opts o = QDQ_OPTIMIZE_OPTS_INIT;
                qdq_target *t = targets[k] != NULL ? target(targets[k]) : NULL;
                qdq_same_result *r = NULL;
                qdq_model *m = NULL;

                o.target = t;
                o.verify_each = true;
                assert_ok(qdq_model_clone(s.m, &m, &err));
                assert_ok(qdq_model_optimize(m, &o, NULL, &err));
                assert_int_equal(m->functions.n, 0);
                assert_ok(qdq_compare_same(s.e, s.m, m, s.test, NULL, 0, &r, &err));
                if (!r->same || !r->proven)
                    fail_msg("%s: %s", test_family_name((test_family)f), r->why);
                qdq_same_result_free(r);
                qdq_model_free(m);
                qdq_target_free(t);
                end(&s);
            }
}

/* --- static ----------------------------------------------------------------------------------- */

TEST(caches_masks_and_tokens_get_no_q_dq)
{
    for (int f = 0; f < TEST_FAMILIES; f++)
        for (size_t i = 0; i < QDQ_COUNT(sizes); i++) {
            setting s = begin((test_family)f, sizes[i]);
            made a = quantize(&s, NULL);

            assert_true(a.p->quantized.n > 0);
            for (size_t k = 0; k < a.p->tensors.n; k++) {
                const qdq_plan_tensor *t = &a.p->tensors.at[k];

                if (strncmp(t->tensor, "past_", 5) == 0 ||
                    (strncmp(t->tensor, "present.", 8) == 0 && t->all) ||
                    (double)t->qparam.scale * 255 > 1e4)
                    fail_msg("%s: '%s', scale %g", test_family_name((test_family)f), t->tensor,
                             (double)t->qparam.scale);
            }
            made_free(&a);
            end(&s);
        }
}

TEST(caches_that_no_product_in_8_bits_made_are_equal_bit_for_bit)
{
    static const test_family of[] = {TEST_WHISPER_DECODER, TEST_WHISPER_MERGED};

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        setting s = begin(of[i], &test_transformer_tiny);
        made a = quantize(&s, NULL);
        qdq_compare_result *r = compare(&s, a.q);
        size_t n = 0;

        /* its rows come from matrices that are too small to be quantized */
        for (size_t k = 0; k < r->n_outputs; k++)
            if (strncmp(r->outputs[k].name, "present.0.", 10) == 0) {
                n++;
                if (r->outputs[k].unequal > 0)
                    fail_msg("%s: %.2f dB", r->outputs[k].name, r->outputs[k].sqnr_db);
            }
        assert_int_equal(n, of[i] == TEST_WHISPER_MERGED ? 4 : 2);
        qdq_free(r);
        made_free(&a);
        end(&s);
    }
}

TEST(planted_massive_channels_are_found_and_no_others)
{
    setting s = begin(TEST_GPT, &test_transformer_small);
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    made without = quantize(&s, NULL), a;
    qdq_compare_result *r[2];
    size_t n = 0;

    o.float_channels = QDQ_FLOAT_CHANNELS_ON;
    a = quantize(&s, &o);
    for (size_t i = 0; i < a.p->float_channels.n; i++) {
        const qdq_plan_channels *c = &a.p->float_channels.at[i];

        /* rows_N: what a normalization gives, as the rows of a Gemm */
        if (c->n_channels != 3)
            continue;
        for (int k = 0; k < 3; k++)
            assert_int_equal(c->channels[k], test_massive_channel(128, k));
        n++;
    }
    assert_int_equal(n, 4);
    r[0] = compare(&s, without.q);
    r[1] = compare(&s, a.q);
    if (r[1]->outputs[0].sqnr_db < r[0]->outputs[0].sqnr_db + 8)
        fail_msg("%.2f dB, without %.2f", r[1]->outputs[0].sqnr_db, r[0]->outputs[0].sqnr_db);
    qdq_free(r[0]);
    qdq_free(r[1]);
    made_free(&without);
    made_free(&a);
    end(&s);
}

/* What compare --per-tensor says has a place in the float model, though its layers are inside
 * functions and three channels of their data are in float. */
TEST(layers_of_functions_are_compared_by_the_names_that_plans_have)
{
    setting s = begin(TEST_T5, &test_transformer_small);
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_opts co = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_layers_result *r = NULL;
    int n_warnings = 0;
    qdq_job job = QDQ_JOB_INIT;
    size_t n = 0;

    o.float_channels = QDQ_FLOAT_CHANNELS_ON;
    made a = quantize(&s, &o);
    job.log = listen;
    job.ctx = &n_warnings;
    co.job = &job;
    assert_ok(qdq_compare_layers(s.e, s.m, a.q, s.test, &co, &r, &err));
    for (size_t i = 0; i < r->n_layers; i++) {
        bool is_planned = !r->layers[i].quantized;

        for (size_t k = 0; k < a.p->quantized.n; k++)
            is_planned |= strcmp(a.p->quantized.at[k].node, r->layers[i].node) == 0;
        n += r->layers[i].quantized;
        if (!is_planned)
            fail_msg("'%s' is no node that the plan quantizes", r->layers[i].node);
    }
    assert_int_equal(n, a.p->quantized.n);
    assert_int_equal(n_warnings, 0); /* of shapes that only the first sample has */
    qdq_free(r);
    made_free(&a);
    end(&s);
}

/* --- odd runs --------------------------------------------------------------------------------- */

static qdq_data *odd_data(test_family f, const qdq_model *m, const char *folder)
{
    /* one token, no cache; `batch_size` is that of all inputs */
    const qdq_input_shape two = f == TEST_WHISPER_ENCODER
                                    ? (qdq_input_shape){"input_features", 3, {2, 80, 2}}
                                    : (qdq_input_shape){"input_ids", 2, {2, 1}};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    o.shapes = &two;
    o.n_shapes = 1;
    assert_ok(qdq_data_open(folder, m, &o, &d, &err));
    return d;
}

TEST(a_batch_of_two_with_one_token_and_no_cache_runs_in_8_bits)
{
    /* not TEST_WHISPER_MERGED, whose switch is one for a run of any batch */
    for (int f = 0; f < TEST_WHISPER_MERGED; f++) {
        const bool has_caches = f == TEST_GPT || f == TEST_LLAMA || f == TEST_WHISPER_DECODER;
        const int64_t lengths[] = {has_caches ? 0 : 1, -1};
        const test_sequences one = {3, 8, 1, lengths};
        setting s = begin((test_family)f, &test_transformer_small);
        made a = quantize(&s, NULL);
        const char *folder = test_path("odd.%d", f);
        qdq_compare_result *r;

        assert_int_equal(mkdir(folder, 0777), 0);
        assert_ok(test_sequences_write((test_family)f, &test_transformer_small, &one, s.m, s.e,
                                       folder, &err));
        qdq_data_close(s.test);
        s.test = odd_data((test_family)f, s.m, folder);
        assert_int_equal(qdq_data_count(s.test), 4);
        r = compare(&s, a.q);
        for (size_t i = 0; i < r->n_outputs; i++)
            if (!(r->outputs[i].sqnr_db > 8) || r->outputs[i].other_shape)
                fail_msg("%s, '%s': %.2f dB", test_family_name((test_family)f), r->outputs[i].name,
                         r->outputs[i].sqnr_db);
        qdq_free(r);
        made_free(&a);
        end(&s);
    }
}
