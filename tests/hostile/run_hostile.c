/* run_hostile.c - runs the tool on hostile models: run_hostile QDQ WORKER GENERATOR SIM.json FOLDER
 * FIRST LAST STEP [each]
 *
 * Each model of gen_hostile goes through the commands that load models, on `ort`, `openvino` and
 * `sim`; without `each`, on one of them in turn. Whatever a model does to an engine, the tool ends
 * by itself, with an exit code of its own and with words, within 30 s and 2 GiB, and leaves neither
 * processes nor temporary files behind. A worker that a signal ends is told: this program stands in
 * for `qdq-worker`, too, and notes how the real one ends. Prints each violation.
 *
 * The 30 s are wall time on a machine that is not overloaded. While more threads want to run than
 * there are processors (this test and all others count), the limit grows by that ratio, at most
 * fourfold. */
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
    LIMIT_SECONDS = 30,
    MAX_OVERLOAD = 4,
    TERM_SECONDS = 125, /* then it is ended as a user would */
    KILL_SECONDS = 135,
    MAX_MIB = 2048,
    SAFE_MIB = 12288, /* of addresses, so that a test cannot take the machine down */
};

static const char *const engines[] = {"ort", "openvino", NULL}; /* the last: sim */
static const char *qdq, *generator, *sim, *folder;
static const char *const witness_worker = "HOSTILE_WORKER", *const witness_log = "HOSTILE_LOG";

/* MODEL and OUT stand for files, DIR for a folder, ENGINE for the engine; each command is run for
 * each engine. */
static const char *const alone[] = {
    "inspect MODEL",           "check MODEL",
    "copy MODEL -o OUT -f",    "strip MODEL -o OUT -f",
    "import MODEL -o OUT -f",  "extract MODEL --outputs y -o OUT -f",
    "optimize MODEL -o OUT -f"};
static const char *const on_engines[] = {
    "bench MODEL -e ENGINE --rounds 2",
    "quantize MODEL -e ENGINE -o OUT -f",
    "compare MODEL MODEL -e ENGINE -d random:1",
    "check MODEL -e ENGINE",
    "inspect MODEL --groups -e ENGINE",
    "extract MODEL --group 0 -e ENGINE -o OUT -f",
    "autotune MODEL -e ENGINE -o DIR -f --preset quick --trials 1 --max-builds 2"};

typedef struct outcome {
    /* of wait4 */
    int status;
    double seconds, limit;
    long mib;
    /* was asked to end */
    bool terminated;
    /* did not */
    bool killed;
    bool left_process;
} outcome;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many threads of the machine want to run for each processor, at least 1. */
static double overload(void)
{
    FILE *f = fopen("/proc/loadavg", "r");
    long running = 0;

    if (f != NULL && fscanf(f, "%*s %*s %*s %ld/", &running) != 1)
        running = 0;
    if (f != NULL)
        fclose(f);
    const double ratio = (double)running / (double)sysconf(_SC_NPROCESSORS_ONLN);
    return ratio < 1 ? 1 : ratio > MAX_OVERLOAD ? MAX_OVERLOAD : ratio;
}

/* --- the witness ------------------------------------------------------------------------------ */

/* The tool starts this in place of its worker: runs the real one in the same process group, notes
 * the signal that ends it, and ends in the same way. */
static int witness(int argc, char **argv)
{
    const char *worker = getenv(witness_worker), *log = getenv(witness_log);
    int status = 0;
    pid_t pid = worker != NULL && log != NULL ? fork() : -1;

    if (pid == 0) {
        execv(worker, argv);
        _exit(127);
    }
    for (int fd = 0; fd < 64; fd++) /* a hang-up shall be one */
        close(fd);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 127;
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    /* with arguments it asks what the processor has */
    FILE *f = argc == 1 ? fopen(log, "a") : NULL;
    if (f != NULL) {
        fprintf(f, "SIG%s\n", sigabbrev_np(WTERMSIG(status)));
        fclose(f);
    }
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 127;
}

/* --- one command ------------------------------------------------------------------------------ */

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
    double load = 0, polls = 0;
    outcome o = {0};
    struct rusage used;
    pid_t pid, got;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(argv, out, err);
    while ((got = wait4(pid, &o.status, WNOHANG, &used)) == 0) {
        o.seconds = now() - begin;
        load += overload();
        polls++;
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
    o.limit = LIMIT_SECONDS * (polls > 0 ? load / polls : 1);
    o.mib = used.ru_maxrss / 1024;
    o.left_process = kill(-pid, 0) == 0 || errno != ESRCH;
    if (o.left_process)
        kill(-pid, SIGKILL);
    return o;
}

typedef struct job {
    long number;
    char model[300], out[300], dir[300], temp[300], said[320], erred[320], log[320], what[300];
    long runs, failed, terminated, crashed;
    double slowest;
    long largest;
} job;

/* --- what is wrong with it -------------------------------------------------------------------- */

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

static bool says(const char *path, const char *word)
{
    FILE *f = fopen(path, "r");
    char line[2000];
    bool found = false;

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strstr(line, word) != NULL;
    if (f != NULL)
        fclose(f);
    return found;
}

static bool is_empty(const char *path)
{
    struct stat s;

    return stat(path, &s) != 0 || s.st_size == 0;
}

/* What is to be complained of, or NULL. */
static const char *complaint(const outcome *o, const job *j)
{
    static const char *const telling[] = {"crashed", "memory", "SIG"};
    static char text[100];

    if (o->killed)
        return "did not end when asked to";
    if (o->terminated && strstr(j->what, "for ever") == NULL)
        return "had to be asked to end";
    if (o->seconds > o->limit) {
        snprintf(text, sizeof text, "took longer than %.0f s", o->limit);
        return text;
    }
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
    if (code != 0 && is_empty(j->said) && is_empty(j->erred))
        return "failed without a word";
    if (o->mib > MAX_MIB) {
        snprintf(text, sizeof text, "took %ld MiB", o->mib);
        return text;
    }
    bool told = is_empty(j->log);
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        told = told || says(j->said, telling[i]) || says(j->erred, telling[i]);
    if (!told)
        return "a worker crashed and nobody said so";
    if (o->left_process)
        return "left a process behind";
    if (rmdir(j->temp) == 0 || errno != ENOTEMPTY)
        return NULL;
    return "left temporary files behind";
}

/* --- one model -------------------------------------------------------------------------------- */

static void remove_tree(const char *path)
{
    char command[400];

    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (access(path, F_OK) == 0 && system(command) != 0)
        perror(command);
}

static void try_command(job *j, const char *command, const char *engine)
{
    char words[600], line[300] = "";
    char *argv[20] = {(char *)(size_t)qdq};
    int n = 1;

    snprintf(words, sizeof words, "%s", command);
    for (char *at = strtok(words, " "); at != NULL; at = strtok(NULL, " "))
        argv[n++] = strcmp(at, "MODEL") == 0    ? j->model
                    : strcmp(at, "OUT") == 0    ? j->out
                    : strcmp(at, "DIR") == 0    ? j->dir
                    : strcmp(at, "ENGINE") == 0 ? (char *)(size_t)engine
                                                : at;
    mkdir(j->temp, 0700);
    unlink(j->log);
    const outcome o = run(argv, j->said, j->erred);
    const char *wrong = complaint(&o, j);

    if (wrong != NULL) /* it shall not spoil the next */
        remove_tree(j->temp);
    remove_tree(j->dir);
    first_line(j->erred, line, sizeof line);
    j->runs++;
    j->terminated += o.terminated;
    j->crashed += !is_empty(j->log);
    j->slowest = o.seconds > j->slowest ? o.seconds : j->slowest;
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
             (each || (size_t)j->number / 9 % 3 == e) && i < sizeof on_engines / sizeof *on_engines;
             i++)
            try_command(j, on_engines[i], engines[e] != NULL ? engines[e] : sim);
    unlink(j->model);
    unlink(j->out);
}

/* --- all -------------------------------------------------------------------------------------- */

static int work(int w, long first, long last, long step, bool each)
{
    job j = {0};

    snprintf(j.model, sizeof j.model, "%s/model%d.onnx", folder, w);
    snprintf(j.out, sizeof j.out, "%s/out%d.onnx", folder, w);
    snprintf(j.dir, sizeof j.dir, "%s/dir%d", folder, w);
    snprintf(j.temp, sizeof j.temp, "%s/temp%d", folder, w);
    snprintf(j.said, sizeof j.said, "%s/said%d", folder, w);
    snprintf(j.erred, sizeof j.erred, "%s/erred%d", folder, w);
    snprintf(j.log, sizeof j.log, "%s/log%d", folder, w);
    setenv("TMPDIR", j.temp, 1);
    setenv(witness_log, j.log, 1);
    for (j.number = first + w * step; j.number <= last; j.number += WORKERS * step)
        try_model(&j, each);
    printf("%ld runs, %ld failed; %ld engines crashed and were told of; %ld were asked to end; at "
           "most %.1f "
           "s, %ld MiB\n",
           j.runs, j.failed, j.crashed, j.terminated, j.slowest, j.largest);
    return j.failed > 0;
}

/* Puts the tool into a folder where it finds the witness as its worker, and its engines as
 * before. */
static const char *place_tool(const char *tool)
{
    static const char *const parts[] = {"qdq-worker", "ort", "openvino", "qdq"};
    static char path[400];
    char self[400], from[400];
    const char *slash = strrchr(tool, '/');
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        snprintf(from, sizeof from, "%.*s/%s", slash != NULL ? (int)(slash - tool) : 1,
                 slash ? tool : ".", parts[i]);
        unlink(path);
        if (i == 1 || i == 2 ? symlink(from, path) != 0 : link(i == 0 ? self : tool, path) != 0)
            return NULL;
    }
    return path;
}

int main(int argc, char **argv)
{
    static char spec[1000];
    int failed = 0;

    if (getenv(witness_worker) != NULL)
        return witness(argc, argv);
    if (argc < 9) {
        fprintf(stderr,
                "usage: run_hostile QDQ WORKER GENERATOR SIM.json FOLDER FIRST LAST STEP [each]\n");
        return 2;
    }
    generator = argv[3], folder = argv[5];
    snprintf(spec, sizeof spec, "sim:%s", argv[4]);
    sim = spec;
    mkdir(folder, 0700);
    if (setenv(witness_worker, argv[2], 1) != 0 || (qdq = place_tool(argv[1])) == NULL) {
        perror(folder);
        return 2;
    }
    for (int w = 0; w < WORKERS; w++) {
        fflush(NULL);
        if (fork() == 0)
            exit(work(w, strtol(argv[6], NULL, 10), strtol(argv[7], NULL, 10),
                      strtol(argv[8], NULL, 10), argc > 9));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}
