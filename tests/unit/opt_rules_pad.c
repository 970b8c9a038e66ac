/* opt_rules_pad.c - padding said in numbers, and done by the layer that reads it. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"
#define W        "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}"

/* One Conv of `in` with these attributes gets these pads. */
static void assert_pads(const char *in, const char *attributes, const char *kept, const char *pads)
{
    char before[500], after[500];

    snprintf(before, sizeof before,
             "g (float[N,1,%s] x) => (float[] y) " W "> { y = Conv <%s> (x, w) }", in, attributes);
    snprintf(after, sizeof after,
             "g (float[N,1,%s] x) => (float[] y) " W "> { y = Conv <%s%spads = [%s]> (x, w) }", in,
             kept, kept[0] != '\0' ? ", " : "", pads);
    assert_becomes("explicit-pads", before, after);
}

static void same_padding_is_written_as_numbers(void **state)
{
    (void)state;
    assert_pads("8,8", "auto_pad = \"SAME_UPPER\"", "", "1, 1, 1, 1");
    assert_pads("8,7", "auto_pad = \"SAME_UPPER\", strides = [2, 2]", "strides = [2, 2]",
                "0, 1, 1, 1");
    assert_pads("8,7", "auto_pad = \"SAME_LOWER\", strides = [2, 2]", "strides = [2, 2]",
                "1, 1, 0, 1");
    assert_pads("8,8", "auto_pad = \"SAME_UPPER\", strides = [5, 5]", "strides = [5, 5]",
                "0, 0, 0, 0");
    assert_becomes("explicit-pads",
                   "g (float[N,1,M,K] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"VALID\"> (x, w) }",
                   "g (float[N,1,M,K] x) => (float[] y) " W "> { y = Conv(x, w) }");
}

/* optimizer 10 case 27 */
static void a_step_that_is_wider_than_the_kernel_needs_no_padding(void **state)
{
    (void)state;
    assert_becomes("explicit-pads",
                   "g (float[N,1,8,8] x) => (float[] y) <float[1,1,1,1] w = {2}> {\n"
                   "  y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (x, w)\n"
                   "}\n",
                   "g (float[N,1,8,8] x) => (float[] y) <\n"
                   "  float[1,1,1,1] w = {2}\n"
                   "> {\n"
                   "  y = Conv <strides = [2, 2], pads = [0, 0, 0, 0]> (x, w)\n"
                   "}\n");
}

static void same_padding_counts_the_dilated_kernel(void **state)
{
    (void)state;
    assert_pads("8,8", "auto_pad = \"SAME_UPPER\", dilations = [2, 2]", "dilations = [2, 2]",
                "2, 2, 2, 2");
}

static void pools_and_integer_convs_have_their_pads_written_down(void **state)
{
    (void)state;
    assert_becomes(
        "explicit-pads",
        "g (float[N,1,8] x) => (float[] y, float[] z) { y = MaxPool <auto_pad = \"SAME_UPPER\", "
        "kernel_shape = [2]> (x) z = "
        "AveragePool <auto_pad = \"SAME_LOWER\", kernel_shape = [4], strides = [2]> (x) }",
        "g (float[N,1,8] x) => (float[] y, float[] z) { y = MaxPool <kernel_shape = [2], pads = "
        "[0, 1]> (x) z = AveragePool "
        "<kernel_shape = [4], strides = [2], pads = [1, 1]> (x) }");
    assert_becomes("explicit-pads",
                   "g (uint8[N,1,8] x, uint8[1,1,3] w) => (int32[] y) { y = ConvInteger <auto_pad "
                   "= \"SAME_UPPER\"> (x, "
                   "w) }",
                   "g (uint8[N,1,8] x, uint8[1,1,3] w) => (int32[] y) { y = ConvInteger <pads = "
                   "[1, 1]> (x, w) }");
}

static void padding_that_is_not_known_stays_automatic(void **state)
{
    (void)state;
    assert_refused("explicit-pads",
                   "g (float[N,1,M,8] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }",
                   "the padding depends on a size that is not known");
    assert_refused("explicit-pads",
                   "g (float[] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }",
                   "the window is not known");
    assert_refused("explicit-pads",
                   "g (float[N,1,8,8] x, float[] w) => (float[] y) { y = Conv <auto_pad = "
                   "\"SAME_UPPER\"> (x, w) }",
                   "the window is not known");
    assert_refused("explicit-pads",
                   "g (float[N,1,8,8] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"SAME_UPPER\", strides = [0, 1]> (x, w) }",
                   "the window is not known");
    assert_refused("explicit-pads",
                   "g (float[N,1,8,8] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"OTHER\"> (x, w) }",
                   "auto_pad has no value that is known");
    assert_refused("explicit-pads",
                   "g (float[N,1,8,8] x) => (float[] y) " W
                   "> { y = Conv <auto_pad = \"SAME_UPPER\", strides = [100, 1]> (x, w) }",
                   "the padding would be negative");
    assert_refused(
        "explicit-pads",
        "g (float[N,3,9] x) => (y) { y = MaxPool <auto_pad = \"SAME_UPPER\", dilations = [2], "
        "kernel_shape = [3]> (x) }",
        "do not agree on what a dilated pool pads");
    assert_refused(
        "explicit-pads",
        "g (float[N,1,8] x) => (float[] y) { y = MaxPool <auto_pad = \"SAME_UPPER\", ceil_mode = "
        "1, kernel_shape = [2]> (x) }",
        "rounds up");
    assert_kept("explicit-pads", "g (float[N,1,8,8] x) => (float[] y) " W
                                 "> { y = Conv <pads = [1, 1, 1, 1]> (x, w) }");
}

/* --- merge-pads ------------------------------------------------------------------------------- */

#define P ", int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}"

static void a_pad_with_zeros_is_done_by_the_conv(void **state)
{
    (void)state;
    assert_becomes("merge-pads" CLEAN,
                   "g (float[N,1,8,8] x) => (float[] y) " W P
                   "> { t = Pad(x, p) y = Conv <pads = [1, 0, 0, 1]> (t, w) }",
                   "g (float[N,1,8,8] x) => (float[] y) " W
                   "> { y = Conv <pads = [2, 2, 3, 5]> (x, w) }");
    assert_becomes("merge-pads" CLEAN,
                   "g (float[N,1,8,8] x) => (float[] y) " W P
                   ", float v = {0}> { t = Pad <mode = \"constant\"> (x, p, v) y = Conv(t, w) }",
                   "g (float[N,1,8,8] x) => (float[] y) " W
                   "> { y = Conv <pads = [1, 2, 3, 4]> (x, w) }");
    assert_becomes("merge-pads" CLEAN,
                   OPSET(18) "g (float[N,1,8,8] x) => (float[] y) " W
                             ", int64[2] p = {5, 6}, int64[1] a = {-1}> { t = Pad(x, p, \"\", a) y "
                             "= Conv(t, w) }",
                   OPSET(18) "g (float[N,1,8,8] x) => (float[] y) " W
                             "> { y = Conv <pads = [0, 5, 0, 6]> (x, w) }");
    assert_becomes("merge-pads",
                   OPSET(10) "g (float[N,1,8,8] x) => (float[] y) " W
                             "> { t = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x) y = Conv(t, w) }",
                   OPSET(10) "g (float[N,1,8,8] x) => (float[] y) " W
                             "> { y = Conv <pads = [1, 1, 1, 1]> (x, w) }");
}

static void a_pad_between_dequantize_and_conv_is_done_by_the_conv(void **state)
{
    (void)state;
    assert_becomes("merge-pads" CLEAN,
                   "g (uint8[N,1,8,8] x) => (float[] y) " W P
                   ", float s = {0.5}, uint8 z = {7}> {\n"
                   "  d = DequantizeLinear(x, s, z)\n  t = Pad(d, p)\n  y = Conv(t, w)\n}",
                   "g (uint8[N,1,8,8] x) => (float[] y) " W ", float s = {0.5}, uint8 z = {7}> {\n"
                   "  d = DequantizeLinear(x, s, z)\n  y = Conv <pads = [1, 2, 3, 4]> (d, w)\n}");
}

/* optimizer 10 case 26 */
static void an_integer_conv_pads_with_the_zero_point(void **state)
{
    static const char head[] =
        "g (uint8[N,1,8,8] x, uint8[1,1,3,3] w) => (int32[] y) <int64[8] p = {0, 0, "
        "1, 1, 0, 0, 1, 1}, uint8 z = {128}, "
        "uint8 v = {%d}> { t = Pad(x, p, v) y = ConvInteger(t, w, z) }";
    char text[400];

    (void)state;
    snprintf(text, sizeof text, head, 128);
    assert_becomes("merge-pads" CLEAN, text,
                   "g (uint8[N,1,8,8] x, uint8[1,1,3,3] w) => (int32[] y) <uint8 z = {128}> { y = "
                   "ConvInteger <pads = [1, 1, 1, 1]> (x, w, z) }");
    snprintf(text, sizeof text, head, 0);
    assert_refused("merge-pads", text, "the Pad puts in something else than the layer does");
    assert_refused(
        "merge-pads",
        "g (uint8[N,1,8,8] x, uint8[1,1,3,3] w, uint8 z) => (int32[] y) <int64[8] p = {0, 0, 1, "
        "1, 0, 0, 1, 1}> { t = Pad(x, p) y = "
        "ConvInteger(t, w, z) }",
        "the zero point is not known");
}

static void pools_do_the_padding_that_changes_nothing_for_them(void **state)
{
    (void)state;
    assert_becomes("merge-pads" CLEAN,
                   "g (float[N,1,8] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}, float v = "
                   "{-inf}> { t = Pad(x, "
                   "p, v) y = MaxPool "
                   "<kernel_shape = [2]> (t) }",
                   "g (float[N,1,8] x) => (float[] y) { y = MaxPool <kernel_shape = [2], pads = "
                   "[1, 1]> (x) }");
    assert_becomes(
        "merge-pads" CLEAN,
        "g (float[N,1,8] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> { r = Relu(x) t = "
        "Pad(r, p) y = MaxPool <kernel_shape = "
        "[2]> (t) }",
        "g (float[N,1,8] x) => (float[] y) { r = Relu(x) y = MaxPool <kernel_shape = [2], pads = "
        "[1, 1]> (r) }");
    assert_becomes(
        "merge-pads" CLEAN,
        "g (float[N,1,8] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> { t = Pad(x, p) y = "
        "AveragePool <kernel_shape = [2]> (t) }",
        "g (float[N,1,8] x) => (float[] y) { y = AveragePool <kernel_shape = [2], "
        "count_include_pad = 1, pads = [1, 1]> (x) }");
}

/* A Pad and what reads it, in 1 dim. */
static void assert_pad_stays(const char *pad, const char *layer, const char *why)
{
    char text[600];

    snprintf(text, sizeof text,
             "g (float[N,1,8] x, int64[6] q) => (float[] y) <float[1,1,3] w = {1,2,3}, int64[6] p "
             "= {0, 0, "
             "1, 0, 0, 1}, int64[6] neg = {0, 0, -1, 0, "
             "0, 1}, int64[6] ch = {0, 1, 1, 0, 0, 1}, int64[6] big = {0, 0, 3, 0, 0, 1}, int64[2] "
             "few = {1, "
             "1}, float one = {1}> { t = %s y = %s }",
             pad, layer);
    assert_refused("merge-pads", text, why);
}

static void pads_that_the_layer_would_do_otherwise_stay(void **state)
{
    (void)state;
    assert_pad_stays("Pad <mode = \"reflect\"> (x, p)", "Conv(t, w)",
                     "does not pad with a constant");
    assert_pad_stays("Pad(x, p, one)", "Conv(t, w)", "puts in something else");
    assert_pad_stays("Pad(x, q)", "Conv(t, w)", "how much is padded is not known");
    assert_pad_stays("Pad(x, few)", "Conv(t, w)", "how much is padded is not known");
    assert_pad_stays("Pad(x, neg)", "Conv(t, w)", "cuts off");
    assert_pad_stays("Pad(x, ch)", "Conv(t, w)", "batch or channels are padded");
    assert_pad_stays("Pad(x, p)", "Conv <auto_pad = \"SAME_UPPER\"> (t, w)",
                     "the layer pads by itself");
    assert_pad_stays("Pad(x, p)", "Conv <strides = [1, 1]> (t, w)", "the window is not known");
    assert_pad_stays("Pad(x, p)", "MaxPool <kernel_shape = [2]> (t)", "puts in something else");
    assert_pad_stays("Pad(x, p)", "AveragePool <kernel_shape = [2], ceil_mode = 1> (t)",
                     "rounds up");
    assert_pad_stays("Pad(x, p)", "AveragePool <kernel_shape = [2], pads = [1, 0]> (t)",
                     "leaves its own padding out");
    assert_pad_stays("Pad(x, big)", "AveragePool <kernel_shape = [2]> (t)", "nothing but padding");
    assert_kept("merge-pads",
                "g (float[N,1,8] x, float v) => (float[] y) <float[1,1,3] w = {1,2,3}, "
                "int64[6] p = {0, 0, 1, 0, 0, 1}> { t = Pad(x, p, v) y "
                "= Conv(t, w) }");
    assert_refused(
        "merge-pads",
        "g (float[N,1,8] x) => (float[] y, int64[] i) <int64[6] p = {0, 0, 1, 0, 0, 1}> { r = "
        "Relu(x) t = Pad(r, p) y, i = MaxPool "
        "<kernel_shape = [2]> (t) }",
        "places are counted");
    assert_refused(
        "merge-pads",
        "g (float[N,1,8] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> { r = Relu(x) t = "
        "Pad(r, p) y = MaxPool "
        "<kernel_shape = [2], dilations = [2]> (t) }",
        "the window has holes");
}

static void a_pad_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes("merge-pads",
                   "g (float[N,1,8,8] x) => (float[] y, float[] t) " W P
                   "> { t = Pad(x, p) y = Conv(t, w) }",
                   "g (float[N,1,8,8] x) => (float[] y, float[] t) " W P
                   "> { t = Pad(x, p) y = Conv <pads = [1, 2, 3, 4]> (x, w) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_padding_is_written_as_numbers),
        cmocka_unit_test(a_step_that_is_wider_than_the_kernel_needs_no_padding),
        cmocka_unit_test(same_padding_counts_the_dilated_kernel),
        cmocka_unit_test(pools_and_integer_convs_have_their_pads_written_down),
        cmocka_unit_test(padding_that_is_not_known_stays_automatic),
        cmocka_unit_test(a_pad_with_zeros_is_done_by_the_conv),
        cmocka_unit_test(a_pad_between_dequantize_and_conv_is_done_by_the_conv),
        cmocka_unit_test(an_integer_conv_pads_with_the_zero_point),
        cmocka_unit_test(pools_do_the_padding_that_changes_nothing_for_them),
        cmocka_unit_test(pads_that_the_layer_would_do_otherwise_stay),
        cmocka_unit_test(a_pad_that_others_read_stays_for_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
