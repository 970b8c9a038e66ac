/* decoder_ort.c - a language model with caches (support/decoder.h), from sequences of several
 * lengths to 4 and 8 bits in blocks: nothing refuses it, plans replay and are read from the file
 * again, and GPTQ loses less than rounding on sequences that it did not see. */
#include <math.h>
#include <sys/stat.h>

#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "quant/plan/plan.h"
#include "support/decoder.h"
#include "support/placed.h"
#include "support/test.h"

/* Weights of the small model: 7 for each layer, and the head. */
enum { N_WEIGHTS = 2 * 7 + 1 };

/* `n` sequences of `tokens` behind caches of several lengths, the empty one of the first token
 * among them. */
static qdq_data *sequences(const qdq_model *m, uint64_t seed, int64_t tokens)
{
    static const int64_t lengths[] = {0, 3, 9, 20, -1};
    const test_decoder_steps steps = {seed, 8, tokens, lengths};
    static int n;
    const char *folder = test_path("sequences.%d", n++);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *d = NULL;

    assert_int_equal(mkdir(folder, 0777), 0);
    assert_ok(test_decoder_write(&test_decoder_small, &steps, m, need_ort(), folder, &err));
    assert_ok(qdq_data_open(folder, m, &opts, &d, &err));
    assert_int_equal(qdq_data_count(d), 32);
    return d;
}

typedef struct made {
    qdq_plan *p;
    qdq_model *q;
    /* SQNR of the logits on single tokens of other sequences */
    double db;
} made;

static made quantize(const qdq_model *m, qdq_data *calib, qdq_data *held_out,
                     const qdq_target_change *changes, size_t n)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_opts compare = QDQ_COMPARE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_compare_result *r = NULL;
    qdq_target *t = NULL;
    made out = {0};

    assert_ok(qdq_target_load("ort-cpu-int4", &t, &err));
    assert_ok(qdq_target_set_all(t, changes, n, &err));
    assert_ok(qdq_quantize(m, t, need_ort(), calib, &opts, &out.p, &out.q, &err));
    assert_ok(qdq_compare(need_ort(), m, out.q, held_out, &compare, &r, &err));
    assert_string_equal(r->outputs[0].name, "logits");
    out.db = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_target_free(t);
    return out;
}

static void made_free(made *a)
{
    qdq_plan_free(a->p);
    qdq_model_free(a->q);
}

static size_t count(const qdq_model *m, const char *type)
{
    size_t n = 0;

    QDQ_FOR_NODES (node, m->graph)
        n += strcmp(node->type, type) == 0;
    return n;
}

TEST(every_format_of_blocks_is_written_and_read_again)
{
    static const struct {
        const char *type, *symmetric, *block, *level, *tables;
        double least_db;
    } of[] = {
        {"uint4", "false", "32", "4", "true", 15},  {"int4", "true", "16", "0", "true", 15},
        {"uint4", "false", "64", "1", "false", 15}, {"uint8", "false", "32", "4", "false", 35},
        {"int8", "true", "64", "0", "false", 40},
    };
    qdq_model *m = test_decoder_model(&test_decoder_small);
    qdq_data *calib = sequences(m, 1, 12), *held_out = sequences(m, 2, 1);
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        const qdq_target_change changes[] = {{"weight.type", of[i].type},
                                             {"weight.symmetric", of[i].symmetric},
                                             {"weight.block", of[i].block},
                                             {"weight.accuracy_level", of[i].level},
                                             {"weight.tables", of[i].tables}};
        made a = quantize(m, calib, held_out, changes, QDQ_COUNT(changes));
        const bool tables = of[i].tables[0] == 't';
        qdq_model *stripped = NULL, *again;
        qdq_plan *imported = NULL;

        if (a.db < of[i].least_db)
            fail_msg("%s, %s: %.2f dB", of[i].type, of[i].block, a.db);
        assert_int_equal(count(a.q, "MatMulNBits"), N_WEIGHTS);
        assert_int_equal(count(a.q, "GatherBlockQuantized"), tables);
        test_assert_plan_replays(a.p, m, a.q);
        assert_ok(qdq_plan_import(a.q, NULL, &imported, &stripped, &err));
        assert_int_equal(qdq_plan_get_summary(imported)->n_weights, N_WEIGHTS + tables);
        again = test_inserted(stripped, imported);
        assert_int_equal(count(again, "MatMulNBits"), N_WEIGHTS);
        qdq_model_free(again);
        qdq_model_free(stripped);
        qdq_plan_free(imported);
        made_free(&a);
    }
    qdq_data_close(calib);
    qdq_data_close(held_out);
    qdq_model_free(m);
}

TEST(gptq_loses_two_db_less_than_rounding_on_other_sequences)
{
    static const char *const rounded[] = {"absmax", "gptq", "gptq-refine"};
    qdq_model *m = test_decoder_model(&test_decoder_small);
    qdq_data *calib = sequences(m, 1, 12), *held_out = sequences(m, 2, 1);
    double db[3];

    for (size_t i = 0; i < QDQ_COUNT(rounded); i++) {
        const qdq_target_change changes[] = {
            {"weight.method", rounded[i]}, {"weight.type", "int4"}, {"weight.symmetric", "true"}};
        made a = quantize(m, calib, held_out, changes, QDQ_COUNT(changes));
        const qdq_plan_summary *s = qdq_plan_get_summary(a.p);

        for (size_t k = 0; k < s->n_rounded; k++)
            if (!s->rounded[k].accepted || s->rounded[k].gain_db < 2)
                fail_msg("%s: %.2f dB, %s", s->rounded[k].weight, s->rounded[k].gain_db,
                         s->rounded[k].reason != NULL ? s->rounded[k].reason : "accepted");
        assert_int_equal(s->n_rounded, i == 0 ? 0 : N_WEIGHTS);
        db[i] = a.db;
        made_free(&a);
    }
    if (db[1] < db[0] + 2)
        fail_msg("logits: %.2f dB, rounding %.2f", db[1], db[0]);
    if (db[2] < db[1] + 0.5)
        fail_msg("logits: %.2f dB refined, %.2f before", db[2], db[1]);
    qdq_data_close(calib);
    qdq_data_close(held_out);
    qdq_model_free(m);
}
