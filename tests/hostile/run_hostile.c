/* run_hostile.c - hands hostile models to the tool: run_hostile QDQ GENERATOR SIM.json FOLDER FIRST LAST STEP [each]
 *
 * Each model of gen_hostile goes through the commands that load models, on `ort`, `openvino` and `sim`; without `each`, on
 * one of them in turn. Whatever a model does to an engine, the tool ends by itself, with an exit code of its own and
 * with words, within 30 s of the processor and 2 GiB, and leaves neither processes nor temporary files behind. Prints what does not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SEED = 17,
    WORKERS = 2,
    CPU_SECONDS = 30,   /* of the processor: a busy machine is not the tool's fault */
    TERM_SECONDS = 120, /* of the clock: then it is ended as a user would */
    KILL_SECONDS = 130,
    MAX_MIB = 2048,
    SAFE_MIB = 12288, /* of addresses, so that a test cannot take the machine down */
};

static const char *const engines[] = {"ort", "openvino", NULL}; /* the last: sim */
static const char *qdq, *generator, *sim, *folder;

/* MODEL and OUT stand for files, ENGINE for the engine; the same command is run for each engine. */
static const char *const alone[] = {"inspect MODEL", "check MODEL", "copy MODEL -o OUT -f",
                                    "strip MODEL -o OUT -f", "optimize MODEL -o OUT -f"};
static const char *const on_engines[] = {
    "bench MODEL -e ENGINE --rounds 2", "quantize MODEL -e ENGINE -o OUT -f",
    "compare MODEL MODEL -e ENGINE -d random:1", "check MODEL -e ENGINE", "inspect MODEL --groups -e ENGINE"};

typedef struct outcome {
    int status; /* of wait4 */
    double seconds, cpu;
    long mib;
    bool terminated; /* was asked to end */
    bool killed;     /* did not */
    bool left_process;
} outcome;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- one command ---------------------------------------------------------------------------------------------------- */

static void become(char **argv, const char *out, const char *err)
{
    const struct rlimit space = {(rlim_t)SAFE_MIB << 20, (rlim_t)SAFE_MIB << 20}, core = {0, 0};
    const int in = open("/dev/null", O_RDONLY), o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
              e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    setpgid(0, 0);
    setrlimit(RLIMIT_AS, &space);
    setrlimit(RLIMIT_CORE, &core);
    if (in < 0 || o < 0 || e < 0 || dup2(in, 0) < 0 || dup2(o, 1) < 0 || dup2(e, 2) < 0)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

static outcome run(char **argv, const char *out, const char *err)
{
    const double begin = now();
    outcome o = {0};
    struct rusage used;
    pid_t pid, got;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(argv, out, err);
    while ((got = wait4(pid, &o.status, WNOHANG, &used)) == 0) {
        o.seconds = now() - begin;
        if (o.seconds > TERM_SECONDS && !o.terminated) {
            o.terminated = true;
            kill(pid, SIGTERM);
        }
        if (o.seconds > KILL_SECONDS && !o.killed) {
            o.killed = true;
            kill(-pid, SIGKILL);
        }
        usleep(o.seconds < 1 ? 2000 : 20000);
    }
    if (got != pid) {
        perror("wait4");
        exit(2);
    }
    o.seconds = now() - begin;
    o.cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    o.mib = used.ru_maxrss / 1024;
    o.left_process = kill(-pid, 0) == 0 || errno != ESRCH;
    if (o.left_process)
        kill(-pid, SIGKILL);
    return o;
}

/* --- what is wrong with it ------------------------------------------------------------------------------------------ */

static void first_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "r");

    line[0] = '\0';
    if (f == NULL)
        return;
    while (fgets(line, (int)size, f) != NULL && strstr(line, "error") == NULL)
        ;
    line[strcspn(line, "\n")] = '\0';
    fclose(f);
}

static bool is_empty(const char *path)
{
    struct stat s;

    return stat(path, &s) != 0 || s.st_size == 0;
}

/* What is to be complained of, or NULL. */
static const char *complaint(const outcome *o, const char *made, const char *out, const char *err,
                             const char *temp)
{
    static char text[100];

    if (o->killed)
        return "did not end when asked to";
    if (o->terminated && strstr(made, "for ever") == NULL)
        return "had to be asked to end";
    if (o->cpu > CPU_SECONDS)
        return "took too long";
    if (WIFSIGNALED(o->status)) {
        snprintf(text, sizeof text, "ended by signal %d", WTERMSIG(o->status));
        return text;
    }
    const int code = WEXITSTATUS(o->status);
    if (!o->terminated && code >= 126) {
        snprintf(text, sizeof text, "exit code %d", code);
        return text;
    }
    if (code == 70 || code == 9) /* QDQ_E_BUG */
        return "calls it a bug of its own";
    if (code != 0 && is_empty(out) && is_empty(err))
        return "failed without a word";
    if (o->mib > MAX_MIB) {
        snprintf(text, sizeof text, "took %ld MiB", o->mib);
        return text;
    }
    if (o->left_process)
        return "left a process behind";
    if (rmdir(temp) == 0 || errno != ENOTEMPTY)
        return NULL;
    return "left temporary files behind";
}

/* --- one model ------------------------------------------------------------------------------------------------------ */

typedef struct job {
    long number;
    char model[300], out[300], temp[300], said[320], erred[320], what[300];
    long runs, failed, terminated, crashed;
    double slowest;
    long largest;
} job;

static void try_command(job *j, const char *command, const char *engine)
{
    char words[600], line[300] = "";
    char *argv[20] = {(char *)(size_t)qdq};
    int n = 1;

    snprintf(words, sizeof words, "%s", command);
    for (char *at = strtok(words, " "); at != NULL; at = strtok(NULL, " "))
        argv[n++] = strcmp(at, "MODEL") == 0    ? j->model
                    : strcmp(at, "OUT") == 0    ? j->out
                    : strcmp(at, "ENGINE") == 0 ? (char *)(size_t)engine
                                                : at;
    mkdir(j->temp, 0700);
    const outcome o = run(argv, j->said, j->erred);
    const char *wrong = complaint(&o, j->what, j->said, j->erred, j->temp);

    if (wrong != NULL) { /* it shall not spoil the next */
        char clear[400];

        snprintf(clear, sizeof clear, "rm -rf '%s'", j->temp);
        if (system(clear) != 0)
            perror(clear);
    }
    first_line(j->erred, line, sizeof line);
    j->runs++;
    j->terminated += o.terminated;
    j->crashed += strstr(line, "crashed") != NULL;
    j->slowest = o.cpu > j->slowest ? o.cpu : j->slowest;
    j->largest = o.mib > j->largest ? o.mib : j->largest;
    if (wrong == NULL && getenv("HOSTILE_VERBOSE") == NULL)
        return;
    j->failed += wrong != NULL;
    printf("%s model %ld (%s): %s%s%s: %s after %.1f s, %ld MiB; exit code %d: %.200s\n",
           wrong != NULL ? "FAIL" : "ok", j->number, j->what, command, engine != NULL ? " on " : "",
           engine != NULL ? engine : "",
           wrong != NULL  ? wrong
           : o.terminated ? "ended as asked"
                          : "well",
           o.seconds, o.mib, WIFEXITED(o.status) ? WEXITSTATUS(o.status) : -1, line);
    fflush(stdout);
}

static bool write_model(job *j)
{
    char command[1500];

    snprintf(command, sizeof command, "'%s' %d %ld '%s'", generator, SEED, j->number, j->model);
    FILE *p = popen(command, "r");

    if (p == NULL || fgets(j->what, sizeof j->what, p) == NULL || pclose(p) != 0)
        return false;
    j->what[strcspn(j->what, "\n")] = '\0';
    return true;
}

static void try_model(job *j, bool each)
{
    if (!write_model(j)) {
        printf("FAIL model %ld: it was not written\n", j->number);
        j->failed++;
        return;
    }
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        try_command(j, alone[i], NULL);
    for (size_t e = 0; e < 3; e++)
        for (size_t i = 0;
             (each || (size_t)j->number / 9 % 3 == e) && i < sizeof on_engines / sizeof *on_engines; i++)
            try_command(j, on_engines[i], engines[e] != NULL ? engines[e] : sim);
    unlink(j->model);
    unlink(j->out);
}

/* --- all ------------------------------------------------------------------------------------------------------------ */

static int work(int w, long first, long last, long step, bool each)
{
    job j = {0};

    snprintf(j.model, sizeof j.model, "%s/model%d.onnx", folder, w);
    snprintf(j.out, sizeof j.out, "%s/out%d.onnx", folder, w);
    snprintf(j.temp, sizeof j.temp, "%s/temp%d", folder, w);
    snprintf(j.said, sizeof j.said, "%s/said%d", folder, w);
    snprintf(j.erred, sizeof j.erred, "%s/erred%d", folder, w);
    setenv("TMPDIR", j.temp, 1);
    for (j.number = first + w * step; j.number <= last; j.number += WORKERS * step)
        try_model(&j, each);
    printf("%ld runs, %ld failed; %ld engines crashed and were told of; %ld were asked to end; at most %.1f "
           "s, %ld MiB\n",
           j.runs, j.failed, j.crashed, j.terminated, j.slowest, j.largest);
    return j.failed > 0;
}

int main(int argc, char **argv)
{
    static char spec[1000];
    int failed = 0;

    if (argc < 8) {
        fprintf(stderr, "usage: run_hostile QDQ GENERATOR SIM.json FOLDER FIRST LAST STEP [each]\n");
        return 2;
    }
    qdq = argv[1], generator = argv[2], folder = argv[4];
    snprintf(spec, sizeof spec, "sim:%s", argv[3]);
    sim = spec;
    mkdir(folder, 0700);
    for (int w = 0; w < WORKERS; w++) {
        fflush(NULL);
        if (fork() == 0)
            exit(work(w, strtol(argv[5], NULL, 10), strtol(argv[6], NULL, 10), strtol(argv[7], NULL, 10),
                      argc > 8));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}
