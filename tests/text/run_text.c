/* run_text.c - runs all files of a folder of tests/text, each as one test. With UPDATE=1 in the
 * environment it writes what came out into the files instead, and shows the difference. */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/facts.h"
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "ir/text.h"
#include "support/facts.h"
#include "support/test.h"
#include "support/text_case.h"
#include "text/text_groups.h"
#include "text/text_numbers.h"
#include "text/text_regions.h"
#include "text/text_rules.h"
#include "text/text_ways.h"

/* What came out of a case. Lists of lines that hold reasons or findings, each behind a newline. */
typedef struct outcome {
    qdq_model *m;
    /* NULL: types are those that are written in the model */
    qdq_facts *facts;
    text_result result;
    qdq_status status;
    qdq_error err;
    /* the model as text, without its header */
    char *before, *after;
    char reasons[1 << 14], warnings[1 << 14];
} outcome;

typedef struct place {
    const char *path;
    const text_case *c;
} place;

#define COMPLAIN(p, ...) complain((p), __FILE__, __LINE__, __VA_ARGS__)
QDQ_PRINTF(4, 5)
static void complain(const place *p, const char *file, int line, const char *fmt, ...)
{
    char what[1 << 14];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    print_error("%s:%d: %s\n", p->path, p->c->line, what);
    _fail(file, line);
}

static void must(const place *p, const outcome *o, qdq_status st, const char *what)
{
    if (st != QDQ_OK)
        COMPLAIN(p, "%s: %s", what, o->err.text);
}

/* --- what is done with a graph ---------------------------------------------------------------- */

/* Twice is once: the second time must change nothing. */
static void run_optimize(const place *p, outcome *o)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;

    opts.passes = p->c->arg;
    opts.verify_each = true;
    for (int i = 0; i < 2; i++) {
        o->status = qdq_model_optimize(o->m, &opts, &r, &o->err);
        if (o->status != QDQ_OK)
            return;
        if (!r->settled || (i == 1 && r->changes != 0))
            COMPLAIN(p, "the second run changes something again");
        for (size_t k = 0; i == 0 && k < r->n_passes; k++)
            for (size_t n = 0; n < r->passes[k].n_refusals; n++) {
                const qdq_refusal *f = &r->passes[k].refusals[n];

                if (f->n == 0 || f->n_examples == 0)
                    COMPLAIN(p, "'%s' is a reason without a candidate", f->reason);
                snprintf(o->reasons + strlen(o->reasons), sizeof o->reasons - strlen(o->reasons),
                         "\n%s", f->reason);
            }
        qdq_optimize_report_free(r);
    }
    must(p, o, qdq_model_verify(o->m, &o->err), "verified");
}

static void run_raise(const place *p, outcome *o)
{
    int opset = atoi(p->c->arg);
    int64_t was = qdq_model_opset_of(o->m, ""), ir = o->m->ir_version;

    o->status = qdq_model_set_opset(o->m, opset, &o->err);
    if (o->status != QDQ_OK) {
        if (qdq_model_opset_of(o->m, "") != was || o->m->ir_version != ir)
            COMPLAIN(p, "the versions are others after an error");
        return;
    }
    if (qdq_model_opset_of(o->m, "") != opset)
        COMPLAIN(p, "the model has opset %d", (int)qdq_model_opset_of(o->m, ""));
    must(p, o, qdq_model_verify(o->m, &o->err), "verified");
}

static void count_warning(void *ctx, qdq_log_level level, const char *text)
{
    (void)text;
    *(int *)ctx += level == QDQ_LOG_WARNING;
}

/* What is an error where the caller is strict is a warning else, and leaves the types open. */
static void run_infer(const place *p, outcome *o)
{
    qdq_job job = QDQ_JOB_INIT;
    const bool forget = strcmp(p->c->arg, "forget") == 0;
    qdq_shape_opts strict = {forget, true, NULL}, lax = {forget, false, &job};
    qdq_error err = QDQ_ERROR_INIT;
    int warnings = 0;

    o->status = qdq_model_infer(o->m, &strict, &o->err);
    job.ctx = &warnings;
    job.log = count_warning;
    uint64_t edits = o->m->graph->edits;

    if (o->status == QDQ_OK)
        must(p, o, qdq_model_infer(o->m, &strict, &o->err), "inferred again");
    else if (qdq_model_infer(o->m, &lax, &err) != QDQ_OK || warnings != 1)
        COMPLAIN(p, "not strict: %d warnings, expected 1 (%s)", warnings, err.text);
    for (size_t i = 0; o->status != QDQ_OK && i < o->m->graph->outputs.n; i++)
        if (o->m->graph->outputs.at[i]->type != NULL)
            COMPLAIN(p, "'%s' has a type", o->m->graph->outputs.at[i]->name);
    if (o->status == QDQ_OK && o->m->graph->edits != edits)
        COMPLAIN(p, "the second run changes something again");
}

static void run_facts(const place *p, outcome *o)
{
    qdq_job job = QDQ_JOB_INIT;
    int warnings = 0;

    job.ctx = &warnings;
    job.log = count_warning;
    o->status = qdq_facts_open(o->m, &job, &o->facts, &o->err);
    if (warnings != 0)
        COMPLAIN(p, "proving logs a warning");
}

static void run_check(const place *p, outcome *o)
{
    qdq_finding *f = NULL;
    size_t n = 0;

    o->status = qdq_model_verify(o->m, &o->err);
    must(p, o, qdq_model_check(o->m, &f, &n, &(qdq_error)QDQ_ERROR_INIT), "checked");
    for (size_t i = 0; i < n; i++)
        snprintf(o->warnings + strlen(o->warnings), sizeof o->warnings - strlen(o->warnings),
                 "\n%s", f[i].text);
    if (o->status != QDQ_OK && strstr(o->warnings, o->err.text) == NULL)
        COMPLAIN(p, "'%s' is not among the findings", o->err.text);
    qdq_free(f);
}

static void run_place(const place *p, outcome *o)
{
    o->status = text_place(o->m, p->c->arg, false, &o->result, &o->err);
}

static void run_quantize(const place *p, outcome *o)
{
    o->status = text_place(o->m, p->c->arg, true, &o->result, &o->err);
}

typedef struct way {
    const char *name;
    void (*run)(const place *p, outcome *o);
    /* or this */
    qdq_status (*of_text)(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
    /* nodes have names, and constants data */
    bool completes;
    /* the graph computes the same numbers afterwards */
    bool keeps_numbers;
    /* a file has each of the warnings */
    bool lists_warnings;
    /* what fails may leave half of a change behind */
    bool may_tear;
    /* the text counts to the letter, and may be none that can be read */
    bool reads;
} way;

static const way ways[] = {
    {.name = "optimize", .run = run_optimize, .keeps_numbers = true},
    {.name = "raise", .run = run_raise, .keeps_numbers = true},
    /* inference keeps the types that it found inside of bodies */
    {.name = "infer", .run = run_infer, .keeps_numbers = true, .may_tear = true},
    {.name = "facts", .run = run_facts, .keeps_numbers = true},
    {.name = "check", .run = run_check, .keeps_numbers = true, .lists_warnings = true},
    {.name = "place", .run = run_place, .completes = true},
    {.name = "quantize", .run = run_quantize, .completes = true},
    {.name = "insert", .of_text = text_insert, .lists_warnings = true, .may_tear = true},
    {.name = "strip", .of_text = text_strip, .lists_warnings = true},
    {.name = "import", .of_text = text_import, .completes = true, .lists_warnings = true},
    {.name = "half", .of_text = text_half, .lists_warnings = true, .may_tear = true},
    {.name = "findings", .of_text = text_findings, .completes = true},
    {.name = "extract", .of_text = text_extract},
    {.name = "domains", .of_text = text_domains},
    {.name = "group", .of_text = text_group},
    {.name = "legal-inputs", .of_text = text_legal_inputs},
    {.name = "raise-each", .of_text = text_raise_each},
    {.name = "params", .of_text = text_params},
    {.name = "rules", .of_text = text_rules},
    {.name = "match", .of_text = text_match},
    {.name = "fusions", .of_text = text_fusions},
    {.name = "scale-types", .of_text = text_scale_types},
    {.name = "smooth", .of_text = text_smooth},
    {.name = "survive", .of_text = text_survive},
    {.name = "shapes", .of_text = text_shapes},
    {.name = "regions", .of_text = text_regions, .completes = true},
    {.name = "text", .of_text = text_text, .reads = true},
};

static const way *way_of(const place *p)
{
    for (size_t i = 0; i < QDQ_COUNT(ways); i++)
        if (strcmp(ways[i].name, p->c->run) == 0)
            return &ways[i];
    COMPLAIN(p, "run: '%s' is nothing that can be done", p->c->run);
    return NULL;
}

/* --- what came out ---------------------------------------------------------------------------- */

/* Without its header, and without the empty lines that a file cannot have in it. */
static char *bare(char *text)
{
    const char *end = *text == '<' ? strchr(text, '>') : NULL;
    char *to = text;

    for (const char *s = end != NULL ? end + 1 : text; *s != '\0'; s++)
        if (*s != '\n' || (to > text && s[1] != '\n' && s[1] != '\0'))
            *to++ = *s;
    *to = '\0';
    return text;
}

static char *text_of(const place *p, outcome *o)
{
    const qdq_text_opts opts = {.max_elements = strcmp(p->c->run, "quantize") == 0 ? 8 : -1};
    qdq_buf out = QDQ_BUF_INIT((size_t)1 << 30);
    char *text;

    must(p, o, qdq_text_print(o->m, &opts, &out, &o->err), "printed");
    text = qdq_buf_take(&out);
    assert_non_null(text);
    return bare(text);
}

static void do_case(const place *p, outcome *o)
{
    memset(o, 0, sizeof *o);
    o->status = qdq_model_from_text(p->c->before, "test", &o->m, &o->err);
    if (way_of(p)->reads)
        o->before = bare(strdup(p->c->before));
    if (o->status != QDQ_OK && !way_of(p)->reads)
        COMPLAIN(p, "%s", o->err.text);
    if (o->status != QDQ_OK) {
        assert_null(o->m);
        o->after = strdup(o->before);
        return;
    }
    if (way_of(p)->completes)
        text_complete(o->m);
    if (o->before == NULL)
        o->before = text_of(p, o);
    if (way_of(p)->run != NULL)
        way_of(p)->run(p, o);
    else
        o->status = way_of(p)->of_text(&o->m, p->c->arg, &o->result, &o->err);
    o->after = text_of(p, o);
}

static void end_case(outcome *o)
{
    qdq_facts_close(o->facts);
    text_result_free(&o->result);
    qdq_model_free(o->m);
    qdq_free(o->before);
    qdq_free(o->after);
}

static const char *versions_of(const qdq_model *m)
{
    static char text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "ir %d", (int)m->ir_version);

    for (size_t i = 0; i < m->opsets.n; i++) {
        const char *domain = m->opsets.at[i].domain;

        n += (size_t)snprintf(text + n, sizeof text - n, ", %s %d",
                              *domain != '\0' ? domain : "opset", (int)m->opsets.at[i].version);
    }
    return text;
}

/* A value of any graph, so that bodies can be asked for, too. */
static const char *type_of(const place *p, outcome *o, const char *name)
{
    QDQ_FOR_GRAPHS (g, o->m) {
        const qdq_value *v = qdq_graph_find(g, name);

        if (v != NULL)
            return test_type_of(o->facts != NULL ? qdq_facts_type(o->facts, v) : v->type);
    }
    COMPLAIN(p, "no value '%s'", name);
    return NULL;
}

/* Where a part of it is wanted, the line that has the part, else the first. */
static const char *line_with(const char *lines, const char *part)
{
    const char *s = part != NULL && *part != '\0' ? strstr(lines, part) : NULL;

    if (s == NULL)
        return *lines == '\n' ? lines + 1 : lines;
    while (s > lines && s[-1] != '\n')
        s--;
    return s;
}

/* What the file would say if it were written today; malloc(). */
static char *said(const place *p, outcome *o, const text_wanted *w)
{
    bool changed = o->after != NULL && strcmp(o->before, o->after) != 0;
    const char *s = "";
    char *out;
    size_t n;

    switch (w->kind) {
    case TEXT_BECOMES:
    case TEXT_STAYS:
    case TEXT_CHANGES:
        return changed ? text_shorten(o->before, o->after) : strdup("");
    case TEXT_REFUSED:
        s = o->result.refusal != NULL ? o->result.refusal : line_with(o->reasons, w->text);
        break;
    case TEXT_WARNING:
        s = line_with(*o->warnings != '\0' ? o->warnings : o->result.warnings, w->text);
        break;
    case TEXT_PLACED:
    case TEXT_PARTS:
        return text_join_lines(o->result.lines != NULL ? o->result.lines : "");
    case TEXT_REASON:
        s = o->result.plan != NULL ? text_reason(o->result.plan, w->name) : "";
        break;
    case TEXT_QUANTIZED:
        s = o->result.plan != NULL ? text_quantized(o->result.plan) : "";
        break;
    case TEXT_FORMAT:
        s = o->result.plan != NULL ? text_format(o->result.plan, w->name) : "";
        break;
    case TEXT_VERSIONS:
        s = versions_of(o->m);
        break;
    case TEXT_FINDINGS:
        s = o->result.findings != NULL ? o->result.findings : "-";
        break;
    case TEXT_COUNTS:
        s = o->result.counts != NULL ? o->result.counts : "-";
        break;
    case TEXT_ERROR:
    case TEXT_UNSUPPORTED:
    case TEXT_USAGE:
        s = o->err.text;
        break;
    case TEXT_TYPE:
        s = type_of(p, o, w->name);
        break;
    case TEXT_ELEMENTS:
        s = test_elems_of(&(test_known){o->m, o->facts}, w->name);
        break;
    }
    n = strcspn(s, "\n");
    out = calloc(1, n + 1);
    assert_non_null(out);
    memcpy(out, s, n);
    return out;
}

static int n_computed;

static bool has_same_numbers(const place *p, outcome *o)
{
    qdq_model *before = test_model(p->c->before);
    const char *other =
        way_of(p)->keeps_numbers ? text_other_numbers(before, o->m, &n_computed) : NULL;

    if (other != NULL)
        print_error("output '%s' has other numbers than before\n", other);
    qdq_model_free(before);
    return other == NULL;
}

/* The graph as the library prints it. */
static char *printed(const place *p, const char *text)
{
    outcome o = {.err = QDQ_ERROR_INIT};
    char *s;

    must(p, &o, qdq_model_from_text(text, "becomes", &o.m, &o.err), "read");
    s = text_of(p, &o);
    qdq_model_free(o.m);
    return s;
}

/* Each warning is in the file. */
static bool has_all_warnings(const place *p, const outcome *o)
{
    const char *all = *o->warnings != '\0' ? o->warnings : o->result.warnings;
    size_t n = 0, wanted = 0;

    for (const char *s = all; (s = strchr(s, '\n')) != NULL; s++)
        n++;
    for (size_t i = 0; i < p->c->n_wanted; i++)
        wanted += p->c->wanted[i].kind == TEXT_WARNING;
    if (n != wanted)
        print_error("%zu warnings:%s\n", n, all);
    return n == wanted;
}

static bool is_wanted(const place *p, outcome *o, const text_wanted *w, const char *got)
{
    static const qdq_status status[] = {[TEXT_ERROR] = QDQ_E_FORMAT,
                                        [TEXT_UNSUPPORTED] = QDQ_E_UNSUPPORTED,
                                        [TEXT_USAGE] = QDQ_E_USAGE};
    bool same;
    char *want;

    if (way_of(p)->lists_warnings && o->status == QDQ_OK && !has_all_warnings(p, o))
        return false;
    if (w->kind == TEXT_BECOMES && strcmp(p->c->run, "quantize") == 0)
        return o->status == QDQ_OK && text_same_words(w->written, got);
    switch (w->kind) {
    case TEXT_BECOMES:
        want = printed(p, w->text);
        same = o->status == QDQ_OK && strcmp(want, o->after) == 0;
        if (!same)
            print_error("wanted:\n%s\ngot:\n%s\n", want, o->after);
        qdq_free(want);
        return same && has_same_numbers(p, o);
    case TEXT_STAYS:
    case TEXT_CHANGES:
        return o->status == QDQ_OK &&
               (strcmp(o->before, o->after) == 0) == (w->kind == TEXT_STAYS) &&
               (w->kind == TEXT_STAYS || has_same_numbers(p, o));
    case TEXT_REFUSED:
    case TEXT_WARNING:
        return o->status == QDQ_OK && strstr(got, w->text) != NULL &&
               (w->kind == TEXT_WARNING || strcmp(o->before, o->after) == 0);
    case TEXT_ERROR:
    case TEXT_UNSUPPORTED:
    case TEXT_USAGE:
        return o->status == status[w->kind] && strstr(got, w->text) != NULL &&
               (way_of(p)->may_tear || strcmp(o->before, o->after) == 0);
    case TEXT_PLACED:
    case TEXT_PARTS:
        return o->status == QDQ_OK && has_all_warnings(p, o) && text_same_words(got, w->text);
    case TEXT_REASON:
    case TEXT_QUANTIZED:
    case TEXT_FORMAT:
    case TEXT_VERSIONS:
    case TEXT_FINDINGS:
    case TEXT_COUNTS:
        return o->status == QDQ_OK && strcmp(got, w->text) == 0;
    case TEXT_TYPE:
    case TEXT_ELEMENTS:
        return strcmp(got, w->text) == 0;
    }
    return false;
}

/* The line that `got` is in a file. */
static void write_line(FILE *to, const outcome *o, const text_wanted *w, const char *got)
{
    static const char *const failed[] = {
        [QDQ_E_FORMAT] = "error", [QDQ_E_UNSUPPORTED] = "unsupported", [QDQ_E_USAGE] = "usage"};

    if (o->status != QDQ_OK)
        fprintf(to, "%s: %s",
                o->status < (int)QDQ_COUNT(failed) && failed[o->status] != NULL ? failed[o->status]
                                                                                : "another status",
                o->err.text);
    else if (w->kind == TEXT_CHANGES && *got != '\0')
        fputs("changes", to);
    else if (w->kind <= TEXT_CHANGES)
        fprintf(to, *got == '\0' ? "stays" : "becomes: %s", got);
    else if (w->name != NULL)
        fprintf(to, "%s %s: %s", text_kind_name(w->kind), w->name, got);
    else
        fprintf(to, "%s: %s", text_kind_name(w->kind), got);
}

/* --- files ------------------------------------------------------------------------------------ */

static void show_and_replace(const char *path, const char *with)
{
    pid_t child = fork();

    if (child == 0) {
        execlp("diff", "diff", "-u", path, with, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0 && waitpid(child, NULL, 0) == child);
    assert_int_equal(rename(with, path), 0);
}

static void run_file(void **state)
{
    const char *path = *state;
    bool update = getenv("UPDATE") != NULL, differs = false;
    char with[4096];
    text_file f;
    FILE *to = NULL;
    size_t at = 0;

    text_open(&f, path);
    snprintf(with, sizeof with, "%s.new", path);
    if (update)
        assert_non_null(to = fopen(with, "wb"));
    for (size_t i = 0; i < f.n_case; i++) {
        static outcome o;
        const text_case *c = &f.at[i];
        place p = {path, c};

        do_case(&p, &o);
        if (update)
            fwrite(f.text + at, 1, c->from - at, to);
        for (size_t k = 0; k < c->n_wanted; k++) {
            const text_wanted *w = &c->wanted[k];
            char *got = said(&p, &o, w);
            bool same = is_wanted(&p, &o, w, got);

            if (!same && !update)
                COMPLAIN(&p, "%s %s: wanted '%s', got '%s' (%s)", text_kind_name(w->kind),
                         w->name != NULL ? w->name : "", w->text != NULL ? w->text : "", got,
                         o.status == QDQ_OK ? "done" : o.err.text);
            differs |= !same;
            if (update && k > 0)
                fputc('\n', to);
            if (update)
                write_line(to, &o, w, got);
            free(got);
        }
        at = c->to;
        end_case(&o);
    }
    if (update) {
        fputs(f.text + at, to);
        assert_int_equal(fclose(to), 0);
        if (differs)
            show_and_replace(path, with);
        else
            assert_int_equal(unlink(with), 0);
    }
    text_close(&f);
}

static int is_case(const struct dirent *d)
{
    const char *end = strrchr(d->d_name, '.');

    return end != NULL && strcmp(end, ".txt") == 0;
}

int main(int argc, char **argv)
{
    struct dirent **names = NULL;
    struct CMUnitTest *tests;
    int n = argc == 2 ? scandir(argv[1], &names, is_case, alphasort) : -1;

    if (n <= 0) {
        fprintf(stderr, "run_text FOLDER: a folder with files .txt is expected\n");
        return 2;
    }
    tests = calloc((size_t)n, sizeof *tests);
    for (int i = 0; i < n; i++) {
        char *path = malloc(strlen(argv[1]) + strlen(names[i]->d_name) + 2);

        sprintf(path, "%s/%s", argv[1], names[i]->d_name);
        tests[i] = (struct CMUnitTest){names[i]->d_name, run_file, NULL, NULL, path};
    }
    int failed = _cmocka_run_group_tests(argv[1], tests, (size_t)n, NULL, NULL);

    printf("%d graphs were computed before and after, and gave the same numbers\n", n_computed);
    for (int i = 0; i < n; i++) {
        free(tests[i].initial_state);
        free(names[i]);
    }
    free(names);
    free(tests);
    return failed;
}
