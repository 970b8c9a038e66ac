/* fake_trtexec.c - a STAND-IN for trtexec, for tests: not TensorRT, and nothing of TensorRT in it.
 * It is written from the documented behaviour (options, files, texts, exit codes) and knows what a
 * test needs to know: times come from a toy cost of the model's nodes, 8-bit where Q/DQ allow it.
 *
 * FAKE_TRTEXEC_VERSION is the version as its banner has it: 101601 if unset. FAKE_TRTEXEC lists
 * what goes wrong, words with commas between them: see misbehaves() in the code below.
 * FAKE_TRTEXEC_STATE is a file for what it remembers, FAKE_TRTEXEC_CALLS one that gets a line with
 * the options of each call. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_trtexec_layers.h"

enum { MAX_ARGS = 100, MAX_LAYERS = 1000 };

typedef struct option {
    const char *name;
    /* versions, major * 100 + minor; until: first that lacks it, 0: none */
    int since, until;
} option;

static const option options[] = {
    {"--help", 0, 0},
    {"--onnx", 0, 0},
    {"--saveEngine", 0, 0},
    {"--loadEngine", 0, 0},
    {"--skipInference", 806, 0},
    {"--buildOnly", 0, 904},
    {"--stronglyTyped", 900, 0},
    {"--fp16", 0, 1100},
    {"--int8", 0, 1100},
    {"--best", 0, 1100},
    {"--minShapes", 0, 0},
    {"--optShapes", 0, 0},
    {"--maxShapes", 0, 0},
    {"--shapes", 0, 0},
    {"--timingCacheFile", 800, 0},
    {"--maxAuxStreams", 806, 0},
    {"--iterations", 0, 0},
    {"--warmUp", 0, 0},
    {"--duration", 0, 0},
    {"--useCudaGraph", 0, 0},
    {"--noCudaGraph", 1100, 0},
    {"--noDataTransfers", 0, 0},
    {"--useSpinWait", 0, 0},
    {"--exportLayerInfo", 802, 0},
    {"--profilingVerbosity", 802, 0},
    {"--exportProfile", 0, 0},
    {"--separateProfileRun", 0, 0},
    {"--exportTimes", 0, 0},
    {"--loadInputs", 0, 0},
    {"--staticPlugins", 806, 0},
    {"--safe", 0, 0},
    {"--remoteAutoTuningConfig", 1013, 0},
    {"--cpuOnly", 1015, 0},
};

static const char *arg[MAX_ARGS];
static int n_arg, version;
static fake_layer layers[MAX_LAYERS];
static size_t n_layers;
static double engine_us;

static int misbehaves(const char *word)
{
    const char *list = getenv("FAKE_TRTEXEC");
    size_t n = strlen(word);

    for (const char *p = list; p != NULL && *p != '\0';
         p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == '\0' || p[n] == ',' || word[n - 1] == ':'))
            return 1;
    return 0;
}

/* The value of --name=value, "" of --name, NULL if it is not there. */
static const char *value_of(const char *name)
{
    size_t n = strlen(name);

    for (int i = 0; i < n_arg; i++)
        if (strncmp(arg[i], name, n) == 0 && (arg[i][n] == '=' || arg[i][n] == '\0'))
            return arg[i][n] == '=' ? arg[i] + n + 1 : "";
    return NULL;
}

static void banner(const char *what)
{
    printf("&&&& %s TensorRT.trtexec [TensorRT v%d] [b11] #", what, version);
    for (int i = 0; i < n_arg; i++)
        printf(" %s", arg[i]);
    printf("\n");
    fflush(stdout);
}

/* Major * 100 + minor, as in the table above. */
static int number(void)
{
    return version >= 100000 ? version / 100 : version / 1000 * 100 + version / 100 % 10;
}

static int fail(const char *text)
{
    fprintf(stderr, "[01/02/2026-10:00:05] [E] %s\n", text);
    banner("FAILED");
    return 1;
}

/* --- options ---------------------------------------------------------------------------------- */

static void help(void)
{
    printf("=== Model Options ===\n");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (number() >= options[i].since &&
            (options[i].until == 0 || number() < options[i].until) &&
            !(misbehaves("standard") && strcmp(options[i].name, "--remoteAutoTuningConfig") == 0))
            printf("  %-30s What it does (default = something)\n", options[i].name);
}

static int is_known(const char *a)
{
    size_t n = strcspn(a, "=");
    char refused[100];

    snprintf(refused, sizeof refused, "refuse:%.*s", (int)n, a);
    if (misbehaves(refused))
        return 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strlen(options[i].name) == n && strncmp(options[i].name, a, n) == 0)
            return number() >= options[i].since &&
                   (options[i].until == 0 || number() < options[i].until);
    return 0;
}

static int check_options(void)
{
    int bad = 0;

    for (int i = 0; i < n_arg; i++) {
        size_t n = strcspn(arg[i], "=");
        int again = 0;

        for (int k = 0; k < i; k++)
            again = again ||
                    (strncmp(arg[k], arg[i], n) == 0 && (arg[k][n] == '=' || arg[k][n] == '\0') &&
                     strncmp(arg[i], "--staticPlugins", n) != 0);
        if (again || !is_known(arg[i])) {
            fprintf(stderr, "[01/02/2026-10:00:00] [E] Unknown option: %.*s %s\n", (int)n, arg[i],
                    arg[i][n] == '=' ? arg[i] + n + 1 : "");
            bad = 1;
        }
    }
    if (bad)
        help();
    else if (value_of("--remoteAutoTuningConfig") != NULL && value_of("--safe") == NULL) {
        fprintf(stderr, "[01/02/2026-10:00:00] [E] Remote auto tuning needs --safe\n");
        bad = 1;
    }
    return bad;
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_call(void)
{
    const char *path = getenv("FAKE_TRTEXEC_CALLS");
    FILE *f = path != NULL ? fopen(path, "a") : NULL;

    if (f == NULL)
        return;
    for (int i = 0; i < n_arg; i++)
        fprintf(f, "%s%s", i > 0 ? " " : "", arg[i]);
    fprintf(f, "\n");
    fclose(f);
}

/* The time of all layers comes first: most runs need no more, and there are hundreds of them. */
static int save_engine(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL)
        return 0;
    fwrite(&engine_us, sizeof engine_us, 1, f);
    fwrite(layers, sizeof layers[0], n_layers, f);
    return fclose(f) == 0;
}

static int load_engine(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return 0;
    n = fread(&engine_us, sizeof engine_us, 1, f);
    if (value_of("--exportProfile") != NULL || value_of("--exportLayerInfo") != NULL)
        n = n_layers = fread(layers, sizeof layers[0], MAX_LAYERS, f);
    fclose(f);
    return n > 0;
}

/* 5 % more or less, by the process. */
static double jitter(void)
{
    return misbehaves("noisy") ? 0.95 + 0.1 * ((unsigned)getpid() * 2654435761U >> 16) / 65536 : 1;
}

static double total_ms(void)
{
    return engine_us * 1e-3 * jitter();
}

static void tensors(FILE *f, const fake_tensor *t, size_t n)
{
    fprintf(f, "[");
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s{\"Name\":\"%s\",\"Dimensions\":[1],", i > 0 ? "," : "", t[i].name);
        if (version >= 110000)
            fprintf(f, "\"Format\":\"Row major linear\",\"Datatype\":\"%s\"}", t[i].type);
        else
            fprintf(f,
                    "\"Location\":\"Device\",\"Format/Datatype\":\"Row major linear %s format\"}",
                    t[i].type);
    }
    fprintf(f, "]");
}

static void export_layers(const char *path)
{
    const char *verbosity = value_of("--profilingVerbosity");
    int detailed =
        verbosity != NULL && strcmp(verbosity, "detailed") == 0 && !misbehaves("names_only");
    FILE *f = path != NULL ? fopen(path, "w") : NULL;

    if (f == NULL)
        return;
    fprintf(f, "{\"Layers\": [");
    for (size_t i = 0; i < n_layers; i++) {
        const fake_layer *l = &layers[i];
        fprintf(f, "%s", i > 0 ? "\n," : "");
        if (!detailed) {
            fprintf(f, "\"%s\"", l->name);
            continue;
        }
        fprintf(f, "{\"Name\":\"%s\",\"LayerType\":\"%s\",\"Inputs\":", l->name, l->type);
        tensors(f, l->in, l->n_in);
        fprintf(f, ",\"Outputs\":");
        tensors(f, l->out, l->n_out);
        if (l->origin[0] != '\0')
            fprintf(f, ",\"Origin\":\"%s\"", l->origin);
        if (number() >= 806)
            fprintf(f, ",\"Metadata\":\"%s\"", l->metadata);
        fprintf(f, "}");
    }
    fprintf(f, "],\n\"Bindings\": [\"x\",\"y\"]}\n");
    fclose(f);
}

static void export_profile(const char *path)
{
    FILE *f = path != NULL ? fopen(path, "w") : NULL;

    if (f == NULL)
        return;
    fprintf(f, "[\n  { \"count\" : 100 }\n");
    for (size_t i = 0; i < n_layers; i++)
        fprintf(f,
                ", { \"name\" : \"%s\", \"timeMs\" : %g, \"averageMs\" : %g, \"medianMs\" : %g, "
                "\"percentage\" : 1 }\n",
                layers[i].name, layers[i].us * 0.1, layers[i].us * 1e-3, layers[i].us * 1e-3);
    fprintf(f, "]\n");
    fclose(f);
}

static void export_times(const char *path, int n)
{
    FILE *f = path != NULL && !misbehaves("only_summary") ? fopen(path, "w") : NULL;

    if (f == NULL)
        return;
    for (int i = 0; i < n; i++) {
        double ms = total_ms() * (1 + 0.001 * (i % 3 - 1)),
               start = (version < 8500 ? 0 : 200) + i * 10.0;
        fprintf(f,
                "%s { \"startComputeMs\" : %g, \"endComputeMs\" : %g, \"h2dMs\" : 0, \"computeMs\" "
                ": %g, "
                "\"d2hMs\" : 0, "
                "\"latencyMs\" : %g }\n",
                i == 0 ? "[\n " : ",", start, start + ms, ms, ms);
    }
    fprintf(f, "]\n");
    fclose(f);
}

static void summary(void)
{
    double ms = total_ms();

    printf("[01/02/2026-10:00:09] [I] === Performance summary ===\n");
    printf("[01/02/2026-10:00:09] [I] Throughput: %g qps\n", 1e3 / ms);
    printf("[01/02/2026-10:00:09] [I] Latency: min = %g ms, max = %g ms, mean = %g ms, median = %g "
           "ms, "
           "percentile(99%%) = "
           "%g ms\n",
           ms, ms, ms, ms, ms);
    printf("[01/02/2026-10:00:09] [I] GPU Compute Time: min = %g ms, max = %g ms, mean = %g ms, "
           "median = %g ms, "
           "percentile(99%%) = %g ms\n",
           ms, ms, ms, ms, ms);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

/* The first call fails like that, the next ones do not. */
static int happens_once(const char *word)
{
    const char *state = getenv("FAKE_TRTEXEC_STATE");

    if (!misbehaves(word) || state == NULL || access(state, F_OK) == 0)
        return 0;
    FILE *f = fopen(state, "w");
    if (f != NULL)
        fclose(f);
    return 1;
}

/* A child that holds the pipes open and outlives us, unless somebody ends the whole group. */
static void leave_a_child(void)
{
    const char *state = getenv("FAKE_TRTEXEC_STATE");
    FILE *f = state != NULL ? fopen(state, "w") : NULL;
    pid_t pid = fork();

    if (pid == 0) {
        sleep(1000);
        _exit(0);
    }
    if (f != NULL) {
        fprintf(f, "%d\n", (int)pid);
        fclose(f);
    }
}

static void print_much(void)
{
    static char line[1 << 16];

    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 16384; i++) /* a gigabyte, half of it on each stream */
        if (write(i % 2 == 0 ? 1 : 2, line, sizeof line) < 0)
            _exit(1);
}

static int misbehave(void)
{
    if (misbehaves("forever")) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
            if (write(1, "still here\n", 11) < 0 || usleep(1000) != 0)
                break;
    }
    if (misbehaves("children"))
        leave_a_child();
    if (misbehaves("gigabyte"))
        print_much();
    if (misbehaves("crash")) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers make an exit code of it */
        raise(SIGSEGV);
    }
    if (happens_once("oom_once") || misbehaves("oom_always"))
        return fail("[TRT] 2: [defaultAllocator.cpp] Error Code 1: Cuda Runtime (out of memory)");
    if (misbehaves("no_kernel") && value_of("--onnx") != NULL) {
        fprintf(
            stderr,
            "[01/02/2026-10:00:05] [E] [TRT] Error[10]: Could not find any implementation for node "
            "{ForeignNode[/a/MatMul.../a/Add]}.\n");
        return fail("Engine could not be created from network");
    }
    return 0;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Reads it first and writes over it in the end, as the program does: a line for each build. */
static int write_cache(const char *path)
{
    static char lines[1 << 20];
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(lines, 1, sizeof lines - 20, f) : 0;

    if (f != NULL)
        fclose(f);
    if (misbehaves("slow_cache"))
        usleep(200000);
    f = fopen(path, "w");
    if (f == NULL)
        return 0;
    n += (size_t)sprintf(lines + n, "timed\n");
    fwrite(lines, 1, misbehaves("torn_cache") ? n / 2 : n, f);
    if (misbehaves("torn_cache")) {
        fclose(f);
        raise(SIGKILL);
    }
    return fclose(f) == 0;
}

static int build(const char *onnx)
{
    const char *path = value_of("--saveEngine"), *cache = value_of("--timingCacheFile");

    for (int i = 0; misbehaves("chatty") && i < 3000; i++)
        printf("[01/02/2026-10:00:01] [V] [TRT] Tactic: %d, Time: 0.0%d, of a layer with a name of "
               "some "
               "length\n",
               i, i);
    if ((n_layers = fake_layers_of(onnx, layers, MAX_LAYERS)) == 0)
        return fail("Failed to parse onnx file");
    engine_us = 10;
    for (size_t i = 0; i < n_layers; i++)
        engine_us += layers[i].us;
    if (path != NULL && !save_engine(path))
        return fail("Saving engine to file failed.");
    if (cache != NULL && !write_cache(cache))
        return fail("Saving timing cache failed.");
    export_layers(value_of("--exportLayerInfo"));
    return 0;
}

static int infer(void)
{
    const char *n = value_of("--iterations");
    int runs = n != NULL ? (int)strtol(n, NULL, 10) : 10;
    int attached = value_of("--exportProfile") != NULL &&
                   value_of("--separateProfileRun") == NULL && version < 110000;

    export_profile(value_of("--exportProfile"));
    if (attached)
        printf("[01/02/2026-10:00:09] [I] The e2e network timing is not reported since it is "
               "inaccurate due "
               "to the extra "
               "synchronizations when the profiler is enabled.\n");
    else if (!misbehaves("no_times")) {
        export_times(value_of("--exportTimes"), runs);
        if (!misbehaves("no_summary"))
            summary();
    }
    return 0;
}

static int run(void)
{
    const char *onnx = value_of("--onnx"), *engine = value_of("--loadEngine");
    int code;

    if (onnx == NULL && engine == NULL)
        return fail("Model missing or format not recognized");
    printf("[01/02/2026-10:00:00] [I] TensorRT version: %d.%d.%d\n", number() / 100, number() % 100,
           version % 100);
    if (onnx != NULL && (code = build(onnx)) != 0)
        return code;
    if (engine != NULL && !load_engine(engine))
        return fail("Engine deserialization failed");
    return value_of("--skipInference") == NULL && value_of("--buildOnly") == NULL ? infer() : 0;
}

int main(int argc, char **argv)
{
    const char *v = getenv("FAKE_TRTEXEC_VERSION");

    version = v != NULL ? (int)strtol(v, NULL, 10) : 101601;
    for (int i = 1; i < argc && n_arg < MAX_ARGS; i++)
        arg[n_arg++] = argv[i];
    write_call();
    if (misbehaves("silent"))
        return 0;
    banner("RUNNING");
    if (value_of("--help") != NULL) {
        help();
        return 0;
    }
    if (misbehaves("silent_run"))
        return 0;
    if (check_options())
        return fail("Invalid arguments");
    int code = misbehave();
    if (code == 0 && !misbehaves("no_result"))
        code = run();
    if (code == 0)
        banner(misbehaves("says_failed") ? "FAILED" : "PASSED");
    return code;
}
