/* trt_parse.c - what trtexec writes, in all the forms of its versions: layer information, profiles,
 * times, logs. The texts are written from the documented formats; none was recorded on hardware. */
#include <math.h>

#include "engine/tool_json.h"
#include "engine/trt/trt_layers.h"
#include "engine/trt/trt_log.h"
#include "engine/trt/trt_profile.h"
#include "support/test.h"

static qdq_error err;
static qdq_arena arena;

static int clean(void **state)
{
    (void)state;
    qdq_arena_free(&arena);
    return 0;
}

#define assert_near(x, want, by) assert_true(fabs((double)(x) - (double)(want)) <= (by))

/* --- layer information ------------------------------------------------------------------------ */

#define E1                                                                                         \
    "{\"Layers\": [\"/l0/Conv + /l0/Relu\"\n,\"Reformatting CopyNode for Input Tensor 0 to "       \
    "/l1/Conv\"],\n"                                                                               \
    "\"Bindings\": [\"x\",\"y\"]}"
#define E2                                                                                         \
    "{\"Layers\": [{\"Name\": \"x_Q\", \"LayerType\": \"Reformat\",\n"                             \
    "\"Inputs\": [{\"Name\":\"x\",\"Location\":\"Device\",\"Dimensions\":[8,3,64,64],"             \
    "\"Format/Datatype\":\"Row major linear FP32\"}],\n"                                           \
    "\"Outputs\": [{\"Name\":\"x_q\",\"Location\":\"Device\",\"Dimensions\":[8,3,64,64],"          \
    "\"Format/Datatype\":\"Four wide channel vectorized row major Int8 format\"}],\n"              \
    "\"ParameterType\":\"Reformat\",\"Origin\":\"QDQ\",\"TacticValue\":\"0x00000000000003e8\"\n}," \
    "{\n"                                                                                          \
    "\"Name\": \"l0.weight + l0.weight_Q + /l0/Conv + /l0/Relu\", \"LayerType\": "                 \
    "\"CaskConvolution\",\n"                                                                       \
    "\"Inputs\": [{\"Name\":\"x_q\",\"Location\":\"Device\",\"Dimensions\":[8,3,64,64],"           \
    "\"Format/Datatype\":\"Four wide channel vectorized row major Int8 format\"}],\n"              \
    "\"Outputs\": [{\"Name\":\"l0_relu\",\"Location\":\"Device\",\"Dimensions\":[8,32,64,64],"     \
    "\"Format/Datatype\":\"Thirty-two wide channel vectorized row major Int8 format\"}],\n"        \
    "\"ParameterType\":\"Convolution\",\"Kernel\":[3,3],\"Weights\":{\"Type\":\"Int8\",\"Count\":" \
    "864},"                                                                                        \
    "\"HasReLU\":1,\"TacticName\":\"sm80_xmma_fprop_example_i8i8_i8i32_f32_tn\"}],\n"              \
    "\"Bindings\": [\"x\",\"y\"]}"
#define E3                                                                                         \
    "[{\"Name\":\"__myl_AddMulErfEtc_myl3_4\",\"LayerType\":\"kgen\",\n"                           \
    "\"Inputs\":[{\"Name\":\"/b0/fc1/MatMul_out\",\"Dimensions\":[1,128,3072],"                    \
    "\"Format/Datatype\":\"Half\"}],\n"                                                            \
    "\"Outputs\":[{\"Name\":\"/b0/gelu_out\",\"Dimensions\":[1,-1,3072],\"Format/"                 \
    "Datatype\":\"Half\"}],\n"                                                                     \
    "\"Constants\":[{\"Name\":\"b0.fc1.bias\",\"Dimensions\":[],\"Format/"                         \
    "Datatype\":\"BFloat16\"}],\n"                                                                 \
    "\"StreamId\":2,\"Metadata\":\"[ONNX Layer: /b0/fc1/Add]\\u001f[ONNX Layer: node_of_g]\"}]"
#define E4                                                                                         \
    "{\"Layers\":[{\"Name\":\"/fc/Gemm_myl0_0\",\"LayerType\":\"gemm\",\n"                         \
    "\"Inputs\":[{\"Name\":\"x\",\"Dimensions\":[16,256],\"Format\":\"Row major linear FP16 "      \
    "format "                                                                                      \
    "(kLINEAR)\",\"Datatype\":\"Half\"}],\n"                                                       \
    "\"Outputs\":[{\"Name\":\"y\",\"Dimensions\":[16,64],\"Format\":\"Row major linear format "    \
    "(kLINEAR)\",\"DataType\":\"Half\"}],\n"                                                       \
    "\"Metadata\":\"[ONNX Layer: /fc/Gemm]\"}],\n"                                                 \
    "\"I/O "                                                                                       \
    "Tensors\":[{\"Name\":\"x\",\"IOMode\":\"Input\",\"DataType\":\"Half\"},{\"Name\":\"y\"}]}"

static qdq_trt_layers layers(const char *text)
{
    qdq_trt_layers l;

    assert_ok(qdq_trt_layers_parse(text, strlen(text), 0, &arena, &l, &err));
    return l;
}

TEST(names_only_are_told_with_the_flag_that_is_missing)
{
    qdq_trt_layers l = layers(E1);

    assert_int_equal(l.detail, QDQ_TRT_NAMES_ONLY);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.at[0].name, "/l0/Conv + /l0/Relu");
    assert_fails(QDQ_E_UNSUPPORTED, "--profilingVerbosity=detailed",
                 qdq_trt_layers_need_detail(&l, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "verbosity is insufficient",
                 qdq_trt_layers_need_detail(&l, &err));
    l = layers("{\"Layers\": []}");
    assert_fails(QDQ_E_UNSUPPORTED, "no layers", qdq_trt_layers_need_detail(&l, &err));
}

TEST(types_are_read_from_the_prose_of_every_version)
{
    qdq_trt_layers l = layers(E2);

    assert_ok(qdq_trt_layers_need_detail(&l, &err));
    assert_string_equal(l.at[0].in.at[0].type, "f32");
    assert_string_equal(l.at[1].out.at[0].type, "i8");
    assert_string_equal(l.at[1].weights_type, "Int8");
    assert_string_equal(l.at[1].out.at[0].dimensions, "8x32x64x64");
    assert_int_equal(qdq_trt_layer_class(&l.at[0]), QDQ_TRT_CONVERSION);
    assert_int_equal(qdq_trt_layer_class(&l.at[1]), QDQ_TRT_COMPUTE);
    l = layers(E3);
    assert_string_equal(l.at[0].out.at[0].type, "f16");
    assert_string_equal(l.at[0].out.at[0].dimensions, "1x?x3072");
    assert_string_equal(l.at[0].constants.at[0].type, "bf16");
    assert_string_equal(l.at[0].constants.at[0].dimensions, "scalar");
    assert_int_equal(l.at[0].stream, 2);
    assert_string_equal(l.at[0].metadata, "[ONNX Layer: /b0/fc1/Add]\x1f[ONNX Layer: node_of_g]");
    l = layers(E4);
    assert_string_equal(l.at[0].in.at[0].type, "f16");
    assert_string_equal(l.at[0].out.at[0].type, "f16");
    assert_string_equal(qdq_trt_type("FP8"), "f8");
    assert_string_equal(qdq_trt_type("FP4E2M1"), "f4");
    assert_string_equal(qdq_trt_type("UInt8"), "u8");
    assert_string_equal(qdq_trt_type("Int64"), "i64");
    assert_string_equal(qdq_trt_type("Channel major FP16 format where channel % 8 == 0."), "f16");
    assert_string_equal(qdq_trt_type("something new"), "");
}

TEST(both_forms_of_inputs_and_outputs_are_taken)
{
    qdq_trt_layers l = layers(E2);

    assert_int_equal(l.n_io, 2);
    assert_string_equal(l.io[1], "y");
    l = layers(E4);
    assert_int_equal(l.n_io, 2);
    assert_string_equal(l.io[1], "y");
    l = layers("{\"layerInfo\":[{\"Name\":\"a\"}]}");
    assert_int_equal(l.n_io, 0);
    assert_string_equal(l.at[0].type, "");
}

TEST(only_the_layer_of_the_profile_in_use_is_kept)
{
    const char *text =
        "{\"Layers\":[{\"Name\":\"/l1/Conv\"},{\"Name\":\"/l1/Conv [profile 1]\"},"
        "{\"Name\":\"/l2/Conv\"},{\"Name\":\"/l2/Conv\"},{\"Name\":\"odd [profile x]\"}]}";
    qdq_trt_layers l = layers(text);

    assert_int_equal(l.n, 4);
    assert_string_equal(l.at[0].name, "/l1/Conv");
    assert_int_equal(l.at[0].profile, 0);
    assert_string_equal(l.at[3].name, "odd [profile x]");
    assert_ok(qdq_trt_layers_parse(text, strlen(text), 1, &arena, &l, &err));
    assert_int_equal(l.n, 4);
    assert_string_equal(l.at[0].name, "/l1/Conv");
    assert_int_equal(l.at[0].profile, 1);
}

TEST(separators_are_read_in_all_four_encodings)
{
    static const char *const ways[] = {"\x1e", "\\u001e", "\x1f", "\\u001F"};

    for (size_t i = 0; i < 4; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "[{\"Name\":\"n\",\"Metadata\":\"[ONNX Layer: a]b]%s[ONNX Layer: c]\"}]", ways[i]);
        qdq_trt_layers l = layers(text);
        assert_int_equal(strlen(l.at[0].metadata), strlen("[ONNX Layer: a]b]x[ONNX Layer: c]"));
        assert_int_equal(l.at[0].metadata[17], i < 2 ? 0x1e : 0x1f);
    }
}

TEST(hostile_names_arrive_byte_for_byte)
{
    qdq_trt_layers l =
        layers("{\"Layers\":[{\"Name\":\"a, \"b\" ]\n\xff\xfe\",\"LayerType\":\"kgen\"},"
               "{\"Name\":\"back\\slash\",\"LayerType\":\"\\ud83d\\ude00\\udc00\\u0000\"}]}");

    assert_string_equal(l.at[0].name, "a, \"b\" ]\n\xff\xfe");
    assert_string_equal(l.at[0].type, "kgen");
    assert_string_equal(l.at[1].name, "back\\slash");
    assert_string_equal(l.at[1].type, "\xf0\x9f\x98\x80\xef\xbf\xbd?");
}

TEST(broken_layer_information_is_refused_with_its_place)
{
    static const char *const texts[][2] = {
        {"", "it ends where a value was expected"},
        {"{\"Layers\": [{\"Name\":\"a\"},\n{\"Na",
         "line 2: found '\"', expected a text that comes to an end"},
        {"{\"Layer\": []}", "a list 'Layers'"},
        {"{\"Layers\": [3]}", "layer 0 is neither an object nor a name"},
        {"{\"Layers\": []} x", "found 'x', expected nothing more"},
        {"&&&& FAILED", "found '&', expected a value"},
        {"{\"Layers\" []}", "line 1"},
    };
    char deep[200] = "";
    qdq_trt_layers l;

    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_fails(QDQ_E_FORMAT, texts[i][1],
                     qdq_trt_layers_parse(texts[i][0], strlen(texts[i][0]), 0, &arena, &l, &err));
    memset(deep, '[', 100);
    assert_fails(QDQ_E_FORMAT, "less deeply nested",
                 qdq_trt_layers_parse(deep, 100, 0, &arena, &l, &err));
}

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(numbers_are_read_whatever_the_locale)
{
    static const struct {
        const char *text;
        double value;
        size_t size;
    } cases[] = {{"3.14 ms", 3.14, 4},
                 {"1e-05", 1e-5, 5},
                 {".5", 0.5, 2},
                 {"-2.5E3x", -2500, 6},
                 {"15234.7", 15234.7, 7},
                 {"0", 0, 1},
                 {"1e", 1, 1},
                 {"inf", INFINITY, 3},
                 {"-inf,", -INFINITY, 4},
                 {"x", 0, 0},
                 {"", 0, 0},
                 {"1e999", INFINITY, 5},
                 {"1e-320", 1e-320, 6},
                 {"-", 0, 0},
                 {"info", 0, 0},
                 {"123456789012345678901234567890", 123456789012345678901234567890.0, 30}};
    double x;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        x = 0;
        assert_int_equal(qdq_tool_number(cases[i].text, strlen(cases[i].text), &x), cases[i].size);
        if (isinf(cases[i].value))
            assert_true(cases[i].size == 0 || x == cases[i].value);
        else
            assert_near(x, cases[i].value, fabs(cases[i].value) * 1e-14);
    }
    assert_int_equal(qdq_tool_number("-nan", 4, &x), 4);
    assert_true(isnan(x));
}

/* --- profiles --------------------------------------------------------------------------------- */

#define E5                                                                                         \
    "[\n  { \"count\" : 512 }\n, { \"name\" : \"Reformatting CopyNode for Input Tensor 0 to "      \
    "/l0/Conv + "                                                                                  \
    "/l0/Relu\", \"timeMs\" : 2.048, \"averageMs\" : 0.004, \"medianMs\" : 0.004096, "             \
    "\"percentage\" : "                                                                            \
    "6.25 }\n, { \"name\" : \"/l0/Conv + /l0/Relu\", \"timeMs\" : 30.72, \"averageMs\" : 0.06, "   \
    "\"medianMs\" : 0.059392, \"percentage\" : 93.75 }\n, { \"name\" : \"flat \"view\" copy\", "   \
    "\"timeMs\" "                                                                                  \
    ": 0, \"averageMs\" : 0, \"medianMs\" : 0, \"percentage\" : 0 }\n]\n"

static qdq_trt_profile profile(const char *text)
{
    qdq_trt_profile p;

    assert_ok(qdq_trt_profile_parse(text, strlen(text), &arena, &p, &err));
    return p;
}

TEST(the_count_header_is_no_layer)
{
    qdq_trt_profile p = profile(E5);
    double sum = 0;

    assert_int_equal(p.count, 512);
    assert_int_equal(p.n, 3);
    assert_false(p.single_pass);
    assert_string_equal(p.at[2].name, "flat \"view\" copy");
    for (size_t i = 0; i < p.n; i++)
        sum += p.at[i].average_ms;
    assert_near(sum, 0.064, 1e-12);
    assert_near(qdq_trt_row_ms(&p.at[1]), 0.059392, 1e-12);
}

TEST(nan_and_a_missing_median_are_taken)
{
    qdq_trt_profile p =
        profile("[\n  { \"count\" : 1 }\n, { \"name\" : \"(Unnamed Layer* 0) [Shuffle]\", "
                "\"timeMs\" : 0, \"averageMs\" : 0, \"percentage\" : nan }\n]\n");

    assert_true(p.single_pass);
    assert_int_equal(p.n, 1);
    assert_true(isnan(p.at[0].percentage) && isnan(p.at[0].median_ms));
    assert_near(qdq_trt_row_ms(&p.at[0]), 0, 0);
}

TEST(rows_with_missing_and_new_keys_are_taken)
{
    qdq_trt_profile p = profile("[{\"name\":\"a\"},{\"averageMs\":1,\"name\":\"b\\c\"},\n"
                                "{\"name\":\"d\",\"medianMs\":inf,\"newKey\":3,\"averageMs\":-1}]");

    assert_int_equal(p.count, 0);
    assert_int_equal(p.n, 3);
    assert_true(isnan(qdq_trt_row_ms(&p.at[0])));
    assert_string_equal(p.at[1].name, "b\\c");
    assert_near(qdq_trt_row_ms(&p.at[1]), 1, 0);
    assert_true(isnan(qdq_trt_row_ms(&p.at[2])));
    p = profile("[ { \"count\" : 3 } , { \"name\" : \"a\", \"b\x1e\t}\", \"timeMs\" : 1 } ]");
    assert_string_equal(p.at[0].name, "a\", \"b\x1e\t}");
}

TEST(a_profile_that_is_cut_off_is_refused)
{
    qdq_trt_profile p;

    for (size_t n = 0; n < sizeof E5 - 3; n++)
        assert_fails(QDQ_E_FORMAT, "profile: line ",
                     qdq_trt_profile_parse(E5, n, &arena, &p, &err));
    assert_fails(QDQ_E_FORMAT, "expected a number",
                 qdq_trt_profile_parse("[{\"name\":\"a\",\"timeMs\":x}]", 25, &arena, &p, &err));
}

TEST(a_profile_is_joined_by_position_or_by_name)
{
    qdq_trt_layers l = layers("[\"a\",\"a\",\"b\",\"c\"]");
    qdq_trt_profile p =
        profile("[{\"count\":9},{\"name\":\"a\",\"timeMs\":1},{\"name\":\"a\",\"timeMs\":2},"
                "{\"name\":\"b [profile 1]\",\"timeMs\":3},{\"name\":\"c\",\"timeMs\":3}]");
    size_t row[4];
    bool positional;

    assert_ok(qdq_trt_profile_join(&p, &l, row, &positional, &err));
    assert_true(positional);
    assert_int_equal(row[2], 2);
    p = profile("[{\"count\":9},{\"name\":\"b\",\"timeMs\":1},{\"name\":\"a\",\"timeMs\":1},"
                "{\"name\":\"z\",\"timeMs\":2},{\"name\":\"a\",\"timeMs\":3}]");
    assert_ok(qdq_trt_profile_join(&p, &l, row, &positional, &err));
    assert_false(positional);
    assert_int_equal(row[0], 1);
    assert_int_equal(row[1], 3);
    assert_int_equal(row[2], 0);
    assert_true(row[3] == SIZE_MAX);
}

/* --- times ------------------------------------------------------------------------------------ */

#define E7                                                                                         \
    "[\n  { \"startEnqMs\" : 201.11, \"startComputeMs\" : 201.2, \"endComputeMs\" : 201.264, "     \
    "\"h2dMs\" : "                                                                                 \
    "0, \"computeMs\" : 0.064, \"d2hMs\" : 0, \"latencyMs\" : 0.064 }\n, { \"startComputeMs\" : "  \
    "20.27, "                                                                                      \
    "\"computeMs\" : 0.065, \"latencyMs\" : 0.065 }\n, { \"computeMs\" : nan }\n]\n"

TEST(compute_times_are_taken_without_the_warm_up_of_old_versions)
{
    double *ms;
    size_t n;

    assert_ok(qdq_trt_times_parse(E7, strlen(E7), 10, 16, 200, &arena, &ms, &n, &err));
    assert_int_equal(n, 2);
    assert_near(ms[1], 0.065, 1e-12);
    assert_ok(qdq_trt_times_parse(E7, strlen(E7), 8, 4, 200, &arena, &ms, &n, &err));
    assert_int_equal(n, 1);
    assert_near(ms[0], 0.064, 1e-12);
    assert_ok(qdq_trt_times_parse(E7, strlen(E7), 8, 5, 200, &arena, &ms, &n, &err));
    assert_int_equal(n, 2);
    assert_fails(QDQ_E_FORMAT, "none of 1 rows has a compute time",
                 qdq_trt_times_parse("[{\"inMs\":1}]", 12, 7, 2, 0, &arena, &ms, &n, &err));
    assert_fails(QDQ_E_FORMAT, "exported times: line 1",
                 qdq_trt_times_parse("[{", 2, 0, 0, 0, &arena, &ms, &n, &err));
    assert_fails(QDQ_E_FORMAT, "expected a list",
                 qdq_trt_times_parse("{}", 2, 0, 0, 0, &arena, &ms, &n, &err));
}

/* --- logs ------------------------------------------------------------------------------------- */

static qdq_trt_log read_log(const char *text)
{
    qdq_trt_log log = QDQ_TRT_LOG_INIT;

    qdq_trt_log_read(&log, text, strlen(text));
    return log;
}

#define E8                                                                                         \
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=g.onnx "              \
    "--stronglyTyped\n"                                                                            \
    "[01/02/2026-10:00:00] [I] TensorRT version: 10.16.1\n"                                        \
    "[01/02/2026-10:00:05] [I] Latency: min = 9 ms, max = 9 ms, mean = 9 ms, median = 9 ms\n"      \
    "[01/02/2026-10:00:09] [I] === Performance summary ===\n"                                      \
    "[01/02/2026-10:00:09] [I] Throughput: 15234.7 qps\n"                                          \
    "[01/02/2026-10:00:09] [I] Latency: min = 0.0634 ms, max = 0.0721 ms, mean = 0.0645 ms, "      \
    "median = "                                                                                    \
    "0.0644 ms, percentile(90%) = 0.0652 ms\n"                                                     \
    "[01/02/2026-10:00:09] [I] H2D Latency: min = 1 ms, max = 1 ms, mean = 1 ms, median = 1 ms\n"  \
    "[01/02/2026-10:00:09] [I] GPU Compute Time: min = 0.0634 ms, max = 0.0721 ms, mean = 0.0645 " \
    "ms, "                                                                                         \
    "median = 0.0643 ms, percentile(99%) = 0.0693 ms\n"                                            \
    "&&&& PASSED TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=g.onnx "               \
    "--stronglyTyped\n"

TEST(the_summary_of_a_good_run_is_read)
{
    qdq_trt_log log = read_log(E8);

    assert_true(log.major == 10 && log.minor == 16 && log.patch == 1);
    assert_true(log.passed && log.has_summary && !log.failed);
    assert_near(log.latency_ms, 0.0644, 1e-12);
    assert_near(log.compute_ms, 0.0643, 1e-12);
    assert_int_equal(log.failure, QDQ_TRT_FINE);
    assert_int_equal(log.trust, 0);
}

TEST(the_summary_of_version_7_is_read)
{
    qdq_trt_log log =
        read_log("[01/01/2021-00:00:00] [I] Host Latency\n[01/01/2021-00:00:00] [I] min: 3 ms (end "
                 "to end 5 ms)\n[I] median: 3.5 ms (end to end 6 ms)\n[I] percentile: 4 ms at 99%\n"
                 "[I] Enqueue Time\n[I] median: 0.1 ms\n[I] GPU Compute\n[I] min: 2 ms\n"
                 "[I] median: 2.5 ms\n&&&& PASSED TensorRT.trtexec [TensorRT v7203] # x\n");

    assert_near(log.latency_ms, 3.5, 0);
    assert_near(log.compute_ms, 2.5, 0);
    assert_true(log.major == 7 && log.minor == 2 && log.patch == 3);
    log = read_log("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # x\n");
    assert_true(log.major == 8 && log.minor == 6 && log.patch == 1);
}

TEST(a_median_is_found_without_a_mean_and_never_in_other_lines)
{
    qdq_trt_log log = read_log("[I] Latency: min = 2.50 ms, max = 4.00 ms, median = 3.14 ms\n");

    assert_near(log.latency_ms, 3.14, 0);
    log = read_log("[I] H2D Latency: min = 1 ms, max = 1 ms, median = 1 ms\n");
    assert_true(isnan(log.latency_ms) && isnan(log.compute_ms) && !log.has_summary);
    log = read_log(
        "[I] GPU Compute Time: min = nan ms, max = nan ms, mean = nan ms, median = nan ms\n");
    assert_true(isnan(log.compute_ms));
    log = read_log(
        "[I] The e2e network timing is not reported since it is inaccurate due to the extra "
        "synchronizations when the profiler is enabled.\n");
    assert_true(log.profiler_attached && !log.has_summary);
}

TEST(warnings_make_a_measurement_less_worth)
{
    static const struct {
        const char *text;
        unsigned trust;
    } cases[] = {
        {"[W] * Throughput may be bound by Enqueue Time rather than GPU Compute",
         QDQ_TRT_ENQUEUE_BOUND},
        {"[W] * GPU compute time is unstable, with coefficient of variance = 4.1%.",
         QDQ_TRT_UNSTABLE},
        {"[W] * Throughput may be bound by host-to-device transfers", QDQ_TRT_TRANSFER_BOUND},
        {"[W] CUDA graph capture failed", QDQ_TRT_NO_GRAPH},
        {"[W] uses 2 auxiliary streams, so the \"Total\" latency may not be accurate.",
         QDQ_TRT_AUX_STREAMS},
        {"[W] Failed to collect layer timing info from previous CUDA graph launch",
         QDQ_TRT_PROFILE_LOST},
        {"[W] Dynamic dimensions required for input: x, but no shapes were provided. Automatically "
         "overriding "
         "shape to: 1x3",
         QDQ_TRT_SHAPE_ASSUMED}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        assert_int_equal(read_log(cases[i].text).trust, cases[i].trust);
}

TEST(failures_are_told_by_their_words)
{
    static const struct {
        const char *text, *reason;
        qdq_trt_failure failure;
    } cases[] = {
        {"[01/02/2026-10:00:05] [E] Error[10]: Could not find any implementation for node "
         "{ForeignNode[a...b]}.\n"
         "[01/02/2026-10:00:05] [E] Engine could not be created from network\n",
         "Could not find any implementation", QDQ_TRT_BUILDER},
        {"[E] Engine could not be created from network\n[E] [TRT] 2: Cuda Runtime (out of "
         "memory)\n",
         "out of memory", QDQ_TRT_MEMORY},
        {"[E] Failed to parse onnx file\n[E] Parsing model failed\n[E] Engine set up failed\n",
         "Failed to parse onnx file", QDQ_TRT_PARSE},
        {"[E] Static model does not take explicit shapes since the shape of inference tensors will "
         "be\n",
         "Static model", QDQ_TRT_NETWORK},
        {"[E] Engine deserialization failed\n", "Engine deserialization failed", QDQ_TRT_RUNTIME},
        {"[E] Accuracy validation FAILED\n", "Accuracy", QDQ_TRT_ACCURACY},
        {"[E] something new\tand odd\n", "something new and odd", QDQ_TRT_OTHER},
        {"[I] all is well\n", "", QDQ_TRT_FINE},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_trt_log log = read_log(cases[i].text);
        assert_string_equal(qdq_trt_failure_name(log.failure),
                            qdq_trt_failure_name(cases[i].failure));
        assert_non_null(strstr(log.reason, cases[i].reason));
    }
    assert_false(
        qdq_trt_is_machine_failure("trtexec failed with exit code 1 (parse): no such operator"));
    assert_true(
        qdq_trt_is_machine_failure("trtexec failed with exit code 1 (memory): out of memory"));
    assert_true(
        qdq_trt_is_machine_failure("trtexec failed with exit code 1 (other): something new"));
    assert_false(
        qdq_trt_is_machine_failure("trtexec failed with exit code 1 (builder): no kernel"));
    assert_true(qdq_trt_is_machine_failure("trtexec says FAILED (runtime): it is gone"));
    assert_false(qdq_trt_is_machine_failure("trtexec left no file (no reason in its output)"));
    assert_false(qdq_trt_is_machine_failure("(runtime) of another engine"));
}

TEST(refused_options_are_told_apart)
{
    qdq_trt_log log = read_log(
        "[E] Unknown option: --exportProfil p.json\n[E] Unknown option: --separateProfileRun\n");

    assert_int_equal(log.failure, QDQ_TRT_ARGUMENTS);
    assert_int_equal(log.n_unknown, 2);
    assert_string_equal(log.unknown[0], "--exportProfil");
    assert_string_equal(log.unknown[1], "--separateProfileRun");
}

TEST(the_help_text_lists_options)
{
    static const char text[] =
        "=== Model Options ===\n  --onnx=<file>   ONNX model\n  --stronglyTyped  see --onnx\n"
        "--notIndented\n  -- nothing\n  --help, -h";
    size_t n = 0;
    const char *const *o = qdq_trt_help_options(text, strlen(text), &arena, &n);

    assert_non_null(o);
    assert_int_equal(n, 3);
    assert_string_equal(o[0], "--onnx");
    assert_string_equal(o[1], "--stronglyTyped");
    assert_string_equal(o[2], "--help");
    assert_null(o[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_only_are_told_with_the_flag_that_is_missing, clean),
        cmocka_unit_test_teardown(types_are_read_from_the_prose_of_every_version, clean),
        cmocka_unit_test_teardown(both_forms_of_inputs_and_outputs_are_taken, clean),
        cmocka_unit_test_teardown(only_the_layer_of_the_profile_in_use_is_kept, clean),
        cmocka_unit_test_teardown(separators_are_read_in_all_four_encodings, clean),
        cmocka_unit_test_teardown(hostile_names_arrive_byte_for_byte, clean),
        cmocka_unit_test_teardown(broken_layer_information_is_refused_with_its_place, clean),
        cmocka_unit_test_teardown(numbers_are_read_whatever_the_locale, clean),
        cmocka_unit_test_teardown(the_count_header_is_no_layer, clean),
        cmocka_unit_test_teardown(nan_and_a_missing_median_are_taken, clean),
        cmocka_unit_test_teardown(rows_with_missing_and_new_keys_are_taken, clean),
        cmocka_unit_test_teardown(a_profile_that_is_cut_off_is_refused, clean),
        cmocka_unit_test_teardown(a_profile_is_joined_by_position_or_by_name, clean),
        cmocka_unit_test_teardown(compute_times_are_taken_without_the_warm_up_of_old_versions,
                                  clean),
        cmocka_unit_test_teardown(the_summary_of_a_good_run_is_read, clean),
        cmocka_unit_test_teardown(the_summary_of_version_7_is_read, clean),
        cmocka_unit_test_teardown(a_median_is_found_without_a_mean_and_never_in_other_lines, clean),
        cmocka_unit_test_teardown(warnings_make_a_measurement_less_worth, clean),
        cmocka_unit_test_teardown(failures_are_told_by_their_words, clean),
        cmocka_unit_test_teardown(refused_options_are_told_apart, clean),
        cmocka_unit_test_teardown(the_help_text_lists_options, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
