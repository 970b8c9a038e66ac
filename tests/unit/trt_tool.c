/* trt_tool.c - trtexec as a tool: its version, runs, refusals, failures. The program is the
 * stand-in of tests/tools/fake_trtexec.c, written from the documented behaviour. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/trt/trt_tool.h"
#include "engine/trt/trt_transcript.h"
#include "support/test.h"

static qdq_error err;
static qdq_arena arena;
static qdq_trt_tool tool;

static int clean(void **state)
{
    (void)state;
    qdq_trt_tool_close(&tool);
    qdq_arena_free(&arena);
    tool = (qdq_trt_tool){0};
    unsetenv("FAKE_TRTEXEC");
    unsetenv("FAKE_TRTEXEC_VERSION");
    unsetenv("FAKE_TRTEXEC_STATE");
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static const char *model(void)
{
    const char *path = test_path("m.onnx");

    test_save(test_graph(__func__), path);
    return path;
}

#define FAKE QDQ_BUILD_DIR "/tests/fake_trtexec"

/* --- runs ------------------------------------------------------------------------------------- */

static void open_tool(const char *args)
{
    assert_ok(qdq_trt_tool_open(&tool, FAKE, args, &err));
}

static qdq_status run_with(const char *const *useful, double deadline_s, qdq_trt_log *log)
{
    const char *engine = test_path("engine"), *files[] = {engine, NULL};
    qdq_trt_call call = {.files = files, .log = test_path("run.log"), .deadline_s = deadline_s};
    const char *needed[] = {qdq_arena_printf(&arena, "--onnx=%s", model()),
                            qdq_arena_printf(&arena, "--saveEngine=%s", engine)};

    for (size_t i = 0; i < 2; i++)
        assert_true(QDQ_PUSH(&arena, &call.needed, needed[i]));
    for (size_t i = 0; useful != NULL && useful[i] != NULL; i++)
        assert_true(QDQ_PUSH(&arena, &call.useful, useful[i]));
    return qdq_trt_tool_run(&tool, &call, log, &err);
}

static qdq_status run_tool(void)
{
    qdq_trt_log log;

    return run_with(NULL, 60, &log);
}

TEST(version_and_options_are_asked_for_once)
{
    open_tool(NULL);
    assert_true(tool.major == 10 && tool.minor == 16 && tool.patch == 1);
    assert_true(qdq_trt_tool_has(&tool, "--separateProfileRun"));
    assert_true(qdq_trt_tool_has(&tool, "--exportTimes=x"));
    assert_false(qdq_trt_tool_has(&tool, "--noCudaGraph"));
    assert_true(qdq_trt_tool_is(&tool, 10, 4) && !qdq_trt_tool_is(&tool, 11, 0));
    clean(NULL);
    setenv("FAKE_TRTEXEC_VERSION", "8601", 1);
    open_tool(NULL);
    assert_true(tool.major == 8 && tool.minor == 6 && tool.patch == 1);
    assert_false(qdq_trt_tool_has(&tool, "--stronglyTyped"));
}

TEST(a_program_that_is_not_there_or_is_none_is_told)
{
    const char *plain = test_path("plain");

    assert_fails(QDQ_E_ENGINE, "part of TensorRT",
                 qdq_trt_tool_open(&tool, "/nowhere/trtexec", NULL, &err));
    assert_fails(QDQ_E_ENGINE, "No such file",
                 qdq_trt_tool_open(&tool, "no-such-trtexec", NULL, &err));
    assert_ok(qdq_write_file(plain, true, "x", 1, &err));
    assert_fails(QDQ_E_ENGINE, "Permission denied", qdq_trt_tool_open(&tool, plain, NULL, &err));
    assert_fails(QDQ_E_ENGINE, "expected trtexec's help",
                 qdq_trt_tool_open(&tool, "true", NULL, &err));
    assert_fails(QDQ_E_ENGINE, "exit code 1", qdq_trt_tool_open(&tool, "false", NULL, &err));
    setenv("FAKE_TRTEXEC", "silent", 1);
    assert_fails(QDQ_E_ENGINE, "0 options", qdq_trt_tool_open(&tool, FAKE, NULL, &err));
}

static char recorded_lines[200000];

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    assert_int_equal(level, QDQ_LOG_DEBUG);
    strncat(recorded_lines, text, sizeof recorded_lines - strlen(recorded_lines) - 2);
    strcat(recorded_lines, "\n");
}

TEST(a_transcript_is_bounded_and_has_no_password)
{
    static const char *const argv[] = {"trtexec",
                                       "--remoteAutoTuningConfig=ssh://me:secret@board:22", NULL};
    static char out[5000], errors[3000];
    const qdq_job job = {.size = sizeof job, .log = record_line};
    const qdq_child_result r = {.out = out, .err = errors};

    for (int i = 0; i < 400; i++)
        snprintf(out + strlen(out), 12, "line %04d\n", i);
    memset(errors, 'x', 2500); /* a line that no message holds */
    strcpy(errors + 2500, "\nssh://me:secret@board");
    recorded_lines[0] = '\0';
    qdq_trt_transcript(&job, argv, &r, 3000);
    assert_memory_equal(recorded_lines,
                        "$ trtexec --remoteAutoTuningConfig=ssh://me:***@board:22\nline 0000\n",
                        66);
    assert_non_null(strstr(recorded_lines, "line 0074\n... 1011 bytes left out ...\nline 0176\n"));
    assert_non_null(strstr(recorded_lines, "line 0399\nxxx"));
    assert_non_null(strstr(recorded_lines, "\nssh://me:***@board\n"));
    assert_null(strstr(recorded_lines, "secret"));
    const char *x = strstr(recorded_lines, "xxx");
    assert_true(strspn(x, "x\n") == 2500 + 3);
    recorded_lines[0] = '\0';
    qdq_trt_transcript(NULL, argv, &r, 3000);
    assert_string_equal(recorded_lines, "");
}

TEST(options_that_are_known_to_be_refused_are_not_tried)
{
    const char *layers = qdq_arena_printf(&arena, "--exportLayerInfo=%s", test_path("layers.json"));
    const char *useful[] = {layers, "--maxAuxStreams=0", NULL};
    qdq_trt_log log;

    setenv("FAKE_TRTEXEC", "refuse:--exportLayerInfo", 1);
    open_tool(NULL);
    assert_true((qdq_trt_tool_capabilities(&tool) & QDQ_CAN_LIST_LAYERS) != 0);
    assert_string_equal(qdq_trt_tool_refused(&tool), "");
    assert_ok(run_with(useful, 60, &log));
    assert_string_equal(qdq_trt_tool_refused(&tool), "--exportLayerInfo");
    assert_true(qdq_trt_tool_capabilities(&tool) ==
                (QDQ_CAN_TIME | QDQ_CAN_PROFILE | QDQ_NAMES_LAYERS));
    clean(NULL);
    open_tool(NULL);
    assert_ok(qdq_trt_tool_refuse(&tool, "--exportLayerInfo --exportProfile --noSuchOption", &err));
    assert_string_equal(qdq_trt_tool_refused(&tool), "--exportLayerInfo --exportProfile");
    assert_true(qdq_trt_tool_capabilities(&tool) == (QDQ_CAN_TIME | QDQ_NAMES_LAYERS));
}

TEST(precision_flags_name_a_precision)
{
    static const char *const cases[][2] = {{"--fp16", "fp16"},
                                           {"--int8 --warmUp=5 --fp16", "fp16-int8"},
                                           {"--shapes=x:1x3", ""},
                                           {"--best", "best"},
                                           {"", ""}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        assert_string_equal(qdq_trt_precision(cases[i][0], &arena), cases[i][1]);
    assert_null(qdq_trt_precision("--a='x", &arena));
}

TEST(refused_precision_flags_come_with_what_to_do_instead)
{
    static const char *const cases[][2] = {
        {"--fp16", "expected a model by quantize or autotune --rest fp16"},
        {"--bf16", "autotune --rest bf16"},
        {"--int8", "autotune --target tensorrt"},
        {"--fp8", "autotune --target tensorrt-fp8"},
        {"--int4", "autotune --target int4"},
        {"--best", "autotune --target tensorrt --rest fp16, or --target tensorrt-fp8"}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        setenv("FAKE_TRTEXEC_VERSION", "110000", 1);
        assert_fails(QDQ_E_USAGE, cases[i][1], qdq_trt_tool_open(&tool, FAKE, cases[i][0], &err));
        clean(NULL);
    }
    assert_null(qdq_trt_instead_of("--fp32"));
}

TEST(options_that_a_version_lacks_are_refused_before_any_build)
{
    setenv("FAKE_TRTEXEC_VERSION", "110000", 1);
    assert_fails(QDQ_E_USAGE, "--fp16: TensorRT 11.0 has no such option",
                 qdq_trt_tool_open(&tool, FAKE, "--fp16", &err));
    clean(NULL);
    setenv("FAKE_TRTEXEC_VERSION", "101401", 1);
    assert_fails(QDQ_E_USAGE, "expected 10.15 or newer",
                 qdq_trt_tool_open(&tool, FAKE, "--remoteAutoTuningConfig=ssh://u@h:22", &err));
    clean(NULL);
    setenv("FAKE_TRTEXEC", "standard", 1);
    assert_fails(QDQ_E_USAGE, "a standard build has no remote auto-tuning",
                 qdq_trt_tool_open(&tool, FAKE, "--remoteAutoTuningConfig=ssh://u@h:22", &err));
    clean(NULL);
    assert_fails(QDQ_E_USAGE, "expected --remoteAutoTuningConfig=ssh://",
                 qdq_trt_tool_open(&tool, FAKE, "--remoteAutoTuningConfig=", &err));
    clean(NULL);
    assert_fails(QDQ_E_USAGE, "--cpuOnly: expected --remoteAutoTuningConfig with it",
                 qdq_trt_tool_open(&tool, FAKE, "--cpuOnly", &err));
    clean(NULL);
    setenv("FAKE_TRTEXEC_VERSION", "101601", 1);
    open_tool("--fp16");
    assert_ok(run_tool());
}

static void masks(const char *text, const char *expected)
{
    qdq_arena mine = QDQ_ARENA_INIT;

    assert_string_equal(qdq_trt_mask(text, &mine), expected);
    qdq_arena_free(&mine);
}

TEST(passwords_are_not_written_down)
{
    masks("", "");
    masks("--fp16 --remote=ssh://u@h:22 x", "--fp16 --remote=ssh://u@h:22 x");
    masks("--r=ssh://u:p@h:22?a=b --fp16", "--r=ssh://u:***@h:22?a=b --fp16");
    masks("a\nb ssh://u:p@w:/@h c://d", "a\nb ssh://u:***@h c://d");
    masks("'ssh://u:@h' http://h:80/x@y \"s://a:b@c\"",
          "'ssh://u:***@h' http://h:***@y \"s://a:***@c\"");
    masks("://", "://");
}

TEST(only_the_option_that_was_refused_is_left_out_and_remembered)
{
    static const char *const useful[] = {"--separateProfileRun", "--profilingVerbosity=detailed",
                                         "--useSpinWait", NULL};
    qdq_trt_log log;
    char *text;
    size_t size;

    setenv("FAKE_TRTEXEC", "refuse:--separateProfileRun", 1);
    open_tool(NULL);
    assert_ok(run_with(useful, 60, &log));
    assert_int_equal(tool.refused.n, 1);
    assert_string_equal(tool.refused.at[0], "--separateProfileRun");
    assert_ok(run_with(useful, 60, &log));
    assert_int_equal(log.n_unknown, 0); /* it was not tried again */
    assert_ok(qdq_read_file(test_path("run.log"), 1 << 20, &text, &size, &err));
    char *last = text;
    for (char *p = text; (p = strstr(p, "$ ")) != NULL; p++)
        last = p;
    *strchr(last, '\n') = '\0';
    assert_null(strstr(last, "--separateProfileRun"));
    assert_non_null(strstr(last, "--profilingVerbosity=detailed --useSpinWait"));
    qdq_free(text);
}

TEST(an_option_of_the_users_that_is_refused_is_named)
{
    open_tool("--noSuchOption=3");
    assert_fails(QDQ_E_USAGE, "TensorRT 10.16 has no option --noSuchOption", run_tool());
    clean(NULL);
    setenv("FAKE_TRTEXEC", "refuse:--saveEngine", 1);
    open_tool(NULL);
    assert_fails(QDQ_E_ENGINE, "refuses --saveEngine, without which nothing can be done",
                 run_tool());
}

/* One of ours is left out and tried without; that the user's is refused as well is for the user. */
TEST(a_second_option_that_is_refused_and_is_the_users_is_named)
{
    static const char *const useful[] = {"--separateProfileRun", NULL};
    qdq_trt_log log;

    setenv("FAKE_TRTEXEC", "refuse:--separateProfileRun,refuse:--useCudaGraph", 1);
    open_tool("--useCudaGraph");
    assert_fails(QDQ_E_USAGE, "has no option --useCudaGraph", run_with(useful, 60, &log));
}

TEST(the_users_option_goes_before_ours)
{
    static const char *const useful[] = {"--warmUp=200", NULL};
    qdq_trt_log log;

    open_tool("--warmUp=500");
    assert_ok(run_with(useful, 60, &log)); /* twice would be refused */
}

TEST(failures_have_class_and_words)
{
    static const char *const cases[][2] = {
        {"no_kernel", "exit code 1 (builder): Error[10]: Could not find any implementation"},
        {"oom_always", "(memory)"},
        {"crash", "died of SIGSEGV"},
        {"no_result", "ended well, but left no engine"},
        {"silent_run", "ended well, but left no engine"},
        {"says_failed", "says FAILED"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        setenv("FAKE_TRTEXEC", cases[i][0], 1);
        open_tool(NULL);
        assert_fails(QDQ_E_ENGINE, cases[i][1], run_tool());
        clean(NULL);
    }
}

TEST(out_of_memory_gets_one_more_try)
{
    setenv("FAKE_TRTEXEC", "oom_once", 1);
    setenv("FAKE_TRTEXEC_STATE", test_path("oom"), 1);
    open_tool(NULL);
    assert_ok(run_tool());
    assert_int_equal(access(test_path("oom"), F_OK), 0);
}

TEST(a_program_that_never_ends_is_ended)
{
    qdq_trt_log log;
    double start = qdq_clock_seconds();

    setenv("FAKE_TRTEXEC", "forever", 1);
    open_tool(NULL);
    assert_fails(QDQ_E_ENGINE, "did not end within 0.3 s", run_with(NULL, 0.3, &log));
    assert_true(qdq_clock_seconds() - start < 30); /* 2 s of grace: it ignores the first signal */
}

TEST(children_that_it_leaves_are_ended)
{
    char *text;
    size_t size;

    setenv("FAKE_TRTEXEC", "children", 1);
    setenv("FAKE_TRTEXEC_STATE", test_path("child"), 1);
    open_tool(NULL);
    assert_ok(run_tool());
    assert_ok(qdq_read_file(test_path("child"), 100, &text, &size, &err));
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    qdq_free(text);
    assert_true(pid > 1);
    for (int i = 0; i < 200 && kill(pid, 0) == 0; i++)
        usleep(10000);
    assert_true(kill(pid, 0) != 0 && errno == ESRCH);
}

TEST(a_gigabyte_of_output_is_read_and_not_kept)
{
    qdq_trt_log log;

    setenv("FAKE_TRTEXEC", "gigabyte", 1);
    open_tool(NULL);
    assert_ok(run_with(NULL, 120, &log));
    assert_true(log.passed); /* last words were heard */
    int fd = open(test_path("run.log"), O_RDONLY);
    assert_true(fd >= 0);
    assert_true(lseek(fd, 0, SEEK_END) < 70 << 20);
    close(fd);
    unlink(test_path("run.log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_transcript_is_bounded_and_has_no_password, clean),
        cmocka_unit_test_teardown(options_that_are_known_to_be_refused_are_not_tried, clean),
        cmocka_unit_test_teardown(precision_flags_name_a_precision, clean),
        cmocka_unit_test_teardown(version_and_options_are_asked_for_once, clean),
        cmocka_unit_test_teardown(a_program_that_is_not_there_or_is_none_is_told, clean),
        cmocka_unit_test_teardown(refused_precision_flags_come_with_what_to_do_instead, clean),
        cmocka_unit_test_teardown(options_that_a_version_lacks_are_refused_before_any_build, clean),
        cmocka_unit_test(passwords_are_not_written_down),
        cmocka_unit_test_teardown(only_the_option_that_was_refused_is_left_out_and_remembered,
                                  clean),
        cmocka_unit_test_teardown(an_option_of_the_users_that_is_refused_is_named, clean),
        cmocka_unit_test_teardown(a_second_option_that_is_refused_and_is_the_users_is_named, clean),
        cmocka_unit_test_teardown(the_users_option_goes_before_ours, clean),
        cmocka_unit_test_teardown(failures_have_class_and_words, clean),
        cmocka_unit_test_teardown(out_of_memory_gets_one_more_try, clean),
        cmocka_unit_test_teardown(a_program_that_never_ends_is_ended, clean),
        cmocka_unit_test_teardown(children_that_it_leaves_are_ended, clean),
        cmocka_unit_test_teardown(a_gigabyte_of_output_is_read_and_not_kept, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
