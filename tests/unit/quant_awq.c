/* quant_awq.c - weights searched by activations: which rows are kept, what the search finds, when
 * it finds nothing. */
#include <math.h>

#include "base/random.h"
#include "quant/weights/awq_state.h"
#include "quant/weights/weights.h"
#include "support/test.h"

enum { K = 64, N = 40, ROWS = 300 };

typedef struct fixture {
    float x[ROWS * K], w[K * N];
    qdq_plan_weight entry;
    qdq_awq_group group;
    qdq_weight_columns weight;
    qdq_arena arena;
} fixture;

/* Normal weights [K, N], and activations whose channels 3 and 40 are `outlier` times as large as
 * the others. */
static void make(fixture *f, float outlier)
{
    qdq_random r = qdq_random_new(5, "awq");

    *f = (fixture){.arena = QDQ_ARENA_INIT};
    for (size_t i = 0; i < QDQ_COUNT(f->w); i++)
        f->w[i] = qdq_random_normal(&r);
    for (size_t i = 0; i < QDQ_COUNT(f->x); i++)
        f->x[i] = qdq_random_normal(&r) * (i % K == 3 || i % K == 40 ? outlier : 1);
    f->group.k = K;
    f->group.alpha_step = 0.1;
    f->entry.awq = (qdq_awq_steps){0.1, 0.05, 0.5};
    f->weight = (qdq_weight_columns){.entry = &f->entry,
                                     .w = f->w,
                                     .k = K,
                                     .n = N,
                                     .step_k = N,
                                     .step_n = 1,
                                     .block = 32,
                                     .n_block = 2,
                                     .scheme = {QDQ_INT4, true, false, QDQ_FLOAT, false}};
    assert_true(QDQ_PUSH(&f->arena, &f->group.weights, f->weight));
}

TEST(channels_that_matter_are_scaled_up)
{
    static fixture f;

    make(&f, 30);
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    assert_true(qdq_awq_search_scales(&f.group, &f.arena));
    assert_non_null(f.group.s);
    assert_true(f.group.s[3] > 2 * f.group.s[4] && f.group.s[40] > 2 * f.group.s[4]);
    double plain = qdq_awq_error(&f.group, &f.weight, NULL);
    double scaled = qdq_awq_error(&f.group, &f.weight, f.group.s);
    assert_true(scaled < plain / 2); /* AWQ loses less than rounding to nearest does */
    qdq_arena_free(&f.arena);
}

TEST(channels_that_are_alike_are_left_alone)
{
    static fixture f;

    make(&f, 1);
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    assert_true(qdq_awq_search_scales(&f.group, &f.arena));
    assert_null(f.group.s);
    qdq_arena_free(&f.arena);
}

/* Squared error of the kept rows, with the weights as they are written and read again: [K, N] in
 * blocks of 32. */
static double written_error(const fixture *f, const float *s)
{
    static float w[K * N], back[K * N], low[2 * N], high[2 * N], scales[2 * N];
    static int32_t zeros[2 * N];
    static unsigned char codes[K * N];
    const qdq_scale_grid g = {{1, K, N}, 32, 2};
    qdq_error err = QDQ_ERROR_INIT;
    double sum = 0;

    for (size_t i = 0; i < QDQ_COUNT(w); i++)
        w[i] = f->w[i] * (s != NULL ? s[i / N] : 1);
    assert_ok(qdq_weight_ranges(w, &g, NULL, low, high, &err));
    assert_ok(
        qdq_weight_scales(&f->weight.scheme, low, high, NULL, QDQ_COUNT(low), scales, zeros, &err));
    const qdq_weight_params p = {f->weight.scheme.type, scales, zeros, NULL};
    assert_ok(qdq_weight_codes(w, &g, &p, codes, &err));
    assert_ok(qdq_weight_decode(codes, &g, &p, back, &err));
    for (size_t r = 0; r < f->group.n_kept; r++)
        for (size_t n = 0; n < N; n++) {
            double y = 0;

            for (size_t k = 0; k < K; k++)
                y += (double)f->group.row[r * K + k] *
                     ((double)back[k * N + n] / (s != NULL ? (double)s[k] : 1) -
                      (double)f->w[k * N + n]);
            sum += y * y;
        }
    return sum;
}

/* In each format the search weighs what is written, and takes no scales that lose more than
 * none. */
TEST(the_error_is_that_of_the_format_that_is_written)
{
    static const qdq_qscheme schemes[] = {{QDQ_INT4, true, false, QDQ_FLOAT, false},
                                          {QDQ_UINT4, false, false, QDQ_FLOAT, false},
                                          {QDQ_UINT8, false, false, QDQ_FLOAT, false}};
    static fixture f;

    for (size_t i = 0; i < QDQ_COUNT(schemes); i++)
        for (int outlier = 1; outlier <= 31; outlier += 6) {
            make(&f, (float)outlier);
            f.weight.scheme = f.group.weights.at[0].scheme = schemes[i];
            assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
            assert_true(qdq_awq_search_scales(&f.group, &f.arena));
            double plain = written_error(&f, NULL), found = written_error(&f, f.group.s);
            assert_true(fabs(qdq_awq_error(&f.group, &f.weight, NULL) - plain) < 1e-3 * plain);
            assert_true(fabs(qdq_awq_error(&f.group, &f.weight, f.group.s) - found) < 1e-3 * found);
            assert_true(found <= plain);
            qdq_arena_free(&f.arena);
        }
}

/* The error with clipping, by letters that hold for all blocks of a column, from outside. */
TEST(ranges_are_cut_where_the_products_lose_least)
{
    static fixture f;
    char letters[2 * N + 1] = {0};
    size_t cut = 0;

    make(&f, 1);
    for (size_t j = 0; j < N; j++)
        f.w[7 * N + j] = 5; /* far out, in a channel that hardly ever is anything */
    for (size_t i = 0; i < ROWS; i++)
        f.x[i * K + 7] *= 0.001f;
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    assert_true(qdq_awq_search_clip(&f.group, &f.weight, letters));
    for (size_t j = 0; j < N; j++)
        cut += letters[j] != 'A'; /* block 0, which holds channel 7 */
    assert_true(cut > N * 9 / 10);
    for (size_t j = 0; j < 2 * N; j++)
        assert_true(letters[j] >= 'A' && letters[j] <= 'K');
    qdq_arena_free(&f.arena);
}

/* Quantized values saturate at the limits of the type: with a part of the range, at codes that
 * kernels without VNNI have no room for. */
TEST(codes_of_reduced_weights_stay_within_their_limits)
{
    static fixture f;
    char letters[2 * N + 1] = {0};

    make(&f, 1);
    f.weight.scheme = (qdq_qscheme){QDQ_INT8, true, true, QDQ_FLOAT, false};
    for (size_t j = 0; j < N; j++)
        f.w[7 * N + j] = 5;
    for (size_t i = 0; i < ROWS; i++)
        f.x[i * K + 7] *= 0.001f;
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    assert_true(qdq_awq_search_clip(&f.group, &f.weight, letters));
    for (size_t j = 0; j < 2 * N; j++)
        assert_int_equal(letters[j], 'A');
    qdq_arena_free(&f.arena);
}

/* the reference takes steps of 0.1 in one of its searches, whatever the option says */
TEST(the_steps_are_those_that_were_asked_for)
{
    static const double steps[] = {1, 0.5, 0.1, 0.02};
    static fixture f;
    double error = INFINITY, first = 0;
    char letters[2 * N + 1] = {0};

    for (size_t i = 0; i < QDQ_COUNT(steps); i++) {
        make(&f, 30);
        f.group.alpha_step = steps[i];
        assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
        assert_true(qdq_awq_search_scales(&f.group, &f.arena));
        double found = qdq_awq_error(&f.group, &f.weight, f.group.s);
        assert_true(found <= error); /* each one's exponents are among the next one's */
        error = found;
        first = i == 0 ? found : first;
        f.entry.awq = (qdq_awq_steps){0.1, 0.1, 0.8};
        assert_true(qdq_awq_search_clip(&f.group, &f.weight, letters));
        for (size_t j = 0; j < 2 * N; j++)
            assert_in_range(letters[j], 'A', 'C'); /* 1, 0.9 and 0.8 */
        qdq_arena_free(&f.arena);
    }
    assert_true(error < first);
}

/* Behind X / s stand the weights times s, and the error of a cut is that of X / s, not of X. With
 * channels whose s differ by decades the two disagree about the best cut. */
TEST(cuts_are_judged_beside_the_scales_of_channels)
{
    static fixture f, g;
    static float scaled[K * N];
    char with[2 * N + 1] = {0}, divided[2 * N + 1] = {0}, plain[2 * N + 1] = {0};
    float s[K];

    make(&f, 1);
    make(&g, 1);
    for (size_t k = 0; k < K; k++)
        s[k] = k % 2 == 0 ? 8 : 0.125F; /* exact: both ways give the same numbers */
    for (size_t i = 0; i < QDQ_COUNT(scaled); i++)
        scaled[i] = f.w[i] * s[i / N];
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    f.group.s = s;
    assert_true(qdq_awq_search_clip(&f.group, &f.weight, with));
    for (size_t i = 0; i < QDQ_COUNT(g.x); i++)
        g.x[i] /= s[i % K];
    g.weight.w = scaled;
    assert_true(qdq_awq_add_rows(&g.group, &g.arena, g.x, ROWS));
    assert_true(qdq_awq_search_clip(&g.group, &g.weight, divided));
    assert_string_equal(with, divided);
    for (size_t i = 0; i < f.group.n_kept * K; i++)
        g.group.row[i] = f.group.row[i]; /* what the reference does: X beside W * s */
    assert_true(qdq_awq_search_clip(&g.group, &g.weight, plain));
    assert_string_not_equal(with, plain);
    qdq_arena_free(&f.arena);
    qdq_arena_free(&g.arena);
}

TEST(transposed_weights_are_searched_alike)
{
    static fixture f;
    static float v[K * N];
    char a[2 * N + 1] = {0}, b[2 * N + 1] = {0};

    make(&f, 10);
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < N; j++)
            v[j * K + k] = f.w[k * N + j];
    qdq_weight_columns t = f.weight;
    t.w = v;
    t.step_k = 1;
    t.step_n = K;
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    assert_true(fabs(qdq_awq_error(&f.group, &t, NULL) - qdq_awq_error(&f.group, &f.weight, NULL)) <
                1e-9);
    assert_true(qdq_awq_search_clip(&f.group, &f.weight, a) &&
                qdq_awq_search_clip(&f.group, &t, b));
    for (size_t j = 0; j < N; j++)
        for (size_t block = 0; block < 2; block++)
            assert_int_equal(a[block * N + j], b[j * 2 + block]);
    qdq_arena_free(&f.arena);
}

TEST(the_same_rows_are_kept_however_they_come)
{
    static fixture f, g;

    make(&f, 1);
    make(&g, 1);
    f.x[5] = NAN;
    g.x[5] = NAN; /* counts as 0 */
    assert_true(qdq_awq_add_rows(&f.group, &f.arena, f.x, ROWS));
    for (size_t i = 0; i < ROWS; i++)
        assert_true(qdq_awq_add_rows(&g.group, &g.arena, g.x + i * K, 1));
    assert_int_equal(f.group.n_row, ROWS);
    assert_int_equal(f.group.n_kept, g.group.n_kept);
    assert_in_range(f.group.n_kept, 32, QDQ_AWQ_ROWS);
    assert_memory_equal(f.group.row, g.group.row, f.group.n_kept * K * sizeof(float));
    assert_memory_equal(f.group.sum, g.group.sum, K * sizeof(double));
    for (size_t i = 1; i < f.group.n_kept; i++) { /* in order, and not at regular distances */
        assert_true(f.group.lot[i] <= f.group.limit);
    }
    qdq_arena_free(&f.arena);
    qdq_arena_free(&g.arena);
}
