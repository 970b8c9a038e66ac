/* text_case.c - reads a file of tests/text line by line. A file that is none fails the test. */
#include "support/text_case.h"

#include <ctype.h>
#include <glob.h>

#include "support/test.h"

static const struct {
    const char *word;
    /* "type of VALUE: ..." */
    bool named;
} kinds[] = {
    [TEXT_BECOMES] = {"becomes", false},   [TEXT_STAYS] = {"stays", false},
    [TEXT_CHANGES] = {"changes", false},   [TEXT_REFUSED] = {"refused", false},
    [TEXT_ERROR] = {"error", false},       [TEXT_UNSUPPORTED] = {"unsupported", false},
    [TEXT_USAGE] = {"usage", false},       [TEXT_WARNING] = {"warning", false},
    [TEXT_TYPE] = {"type of", true},       [TEXT_ELEMENTS] = {"elements of", true},
    [TEXT_PLACED] = {"placed", false},     [TEXT_REASON] = {"reason of", true},
    [TEXT_FORMAT] = {"format of", true},   [TEXT_QUANTIZED] = {"quantized", false},
    [TEXT_VERSIONS] = {"versions", false}, [TEXT_FINDINGS] = {"findings", false},
    [TEXT_COUNTS] = {"counts", false},     [TEXT_PARTS] = {"parts", false},
};

typedef struct reader {
    text_file *f;
    const char *path;
    int line;
    /* settings, until the next */
    const char *run, *arg, *opset, *frame;
    /* lines of a graph so far, or NULL */
    char *before;
    /* lines behind "becomes:", "placed:", "parts:" so far, or NULL */
    char *after;
    /* the graph above, as it stands there */
    const char *last_before;
    /* what became of the graph before, as it stands there */
    const char *last_after;
    /* the lines below may go on with the frame */
    bool in_frame;
    /* whose wanted lines are being read */
    text_case *now;
} reader;

const char *text_kind_name(text_kind kind)
{
    return kinds[kind].word;
}

/* --- strings ---------------------------------------------------------------------------------- */

static char *keep(text_file *f, char *s)
{
    f->kept = realloc(f->kept, (f->n_kept + 1) * sizeof *f->kept);
    assert_non_null(f->kept);
    f->kept[f->n_kept++] = s;
    return s;
}

static char *copy(text_file *f, const char *from, size_t n)
{
    char *s = malloc(n + 1);

    assert_non_null(s);
    memcpy(s, from, n);
    s[n] = '\0';
    return keep(f, s);
}

static char *join(text_file *f, const char *a, const char *b, const char *c)
{
    char *s = malloc(strlen(a) + strlen(b) + strlen(c) + 1);

    assert_non_null(s);
    sprintf(s, "%s%s%s", a, b, c);
    return keep(f, s);
}

/* Without spaces around it. */
static char *trimmed(text_file *f, const char *from, size_t n)
{
    while (n > 0 && isspace((unsigned char)*from))
        from++, n--;
    while (n > 0 && isspace((unsigned char)from[n - 1]))
        n--;
    return copy(f, from, n);
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* Behind the bracket that closes the one at s; NULL: there is none. */
static const char *behind(const char *s)
{
    int depth = 0;

    for (; *s != '\0'; s++) {
        if (*s == '"')
            for (s++; *s != '"' && *s != '\0'; s++)
                s += *s == '\\' && s[1] != '\0';
        if (*s == '\0')
            return NULL;
        if (*s == '=' && s[1] == '>')
            s++;
        else if (strchr("(<[{", *s) != NULL)
            depth++;
        else if (strchr(")>]}", *s) != NULL && --depth == 0)
            return s + 1;
    }
    return NULL;
}

static const char *skip_spaces(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

/* Where a graph's initializers begin, or its body where it has none; NULL: it is not a graph. */
static const char *interface_end(const char *s)
{
    s = skip_spaces(s);
    if (*s == '<')
        s = behind(s);
    for (int i = 0; i < 2 && s != NULL; i++) {
        s = strchr(s, '(');
        s = s != NULL ? behind(s) : NULL;
    }
    return s != NULL ? skip_spaces(s) : NULL;
}

static const char *body_start(const char *s)
{
    s = interface_end(s);
    if (s != NULL && *s == '<')
        s = behind(s);
    return s != NULL ? skip_spaces(s) : NULL;
}

/* "g (float x) =>", as against "y = Relu(x)", "Relu(x)" and other parts of one. */
static bool is_whole(const char *s)
{
    if (*s == '<')
        return true;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    s = skip_spaces(s);
    s = *s == '(' ? behind(s) : NULL;
    return s != NULL && strncmp(skip_spaces(s), "=>", 2) == 0;
}

static void bad(const reader *r, const char *what)
{
    fail_msg("%s:%d: %s", r->path, r->line, what);
}

/* The frame with the parts of `text` in its holes. */
static char *framed(reader *r, const char *text)
{
    char *all = copy(r->f, "", 0);
    const char *from = r->frame, *hole;

    while ((hole = strchr(from, '$')) != NULL) {
        const char *end = strchr(text, '|');
        size_t n = end != NULL ? (size_t)(end - text) : strlen(text);

        all = join(r->f, all, copy(r->f, from, (size_t)(hole - from)), trimmed(r->f, text, n));
        from = hole + 1;
        if ((end != NULL) != (strchr(from, '$') != NULL))
            bad(r, "the graph has not as many parts as the frame has holes");
        text += n + (end != NULL);
    }
    return join(r->f, all, from, "");
}

/* What stands in the file as a graph with a header. `before` is the graph that it comes of. */
static char *whole(reader *r, const char *text, const char *before)
{
    text = skip_spaces(text);
    if (before != NULL && (*text == '{' || *text == '<')) {
        const char *end = *text == '{' ? body_start(before) : interface_end(before);

        if (end == NULL)
            bad(r, "'becomes' has no graph to go on from");
        return join(r->f, copy(r->f, before, (size_t)(end - before)), text, "");
    }
    if (r->frame != NULL && !is_whole(text))
        text = framed(r, text);
    if (*text == '<' || r->opset == NULL)
        return join(r->f, text, "", "");
    return join(r->f, join(r->f, "<ir_version: 8, opset_import: [\"\" : ", r->opset, "]>\n"), text,
                "");
}

/* --- lines ------------------------------------------------------------------------------------ */

/* "run: X": X, or NULL. */
static char *setting(reader *r, const char *line, size_t n, const char *word)
{
    size_t len = strlen(word);

    if (n <= len || strncmp(line, word, len) != 0 || line[len] != ':')
        return NULL;
    return trimmed(r->f, line + len + 1, n - len - 1);
}

static bool set(reader *r, const char *line, size_t n)
{
    char *value;

    r->in_frame = false;
    if ((value = setting(r, line, n, "run")) != NULL) {
        char *space = strchr(value, ' ');

        r->run = value;
        r->arg = space != NULL ? space + 1 : "";
        if (space != NULL)
            *space = '\0';
    } else if ((value = setting(r, line, n, "opset")) != NULL) {
        r->opset = *value != '\0' ? value : NULL;
    } else if ((value = setting(r, line, n, "frame")) != NULL) {
        r->frame = value;
        r->in_frame = true;
    } else {
        return false;
    }
    return true;
}

/* A line that says what is wanted. */
static bool wanted(reader *r, const char *line, size_t n, text_wanted *w)
{
    for (size_t i = 0; i < QDQ_COUNT(kinds); i++) {
        const char *colon = memchr(line, ':', n);
        size_t len = strlen(kinds[i].word);

        if (n < len || strncmp(line, kinds[i].word, len) != 0)
            continue;
        if (i == TEXT_STAYS || i == TEXT_CHANGES
                ? n != len
                : colon == NULL || (kinds[i].named ? line[len] != ' ' : colon != line + len))
            continue;
        *w = (text_wanted){.kind = (text_kind)i};
        if (kinds[i].named)
            w->name = trimmed(r->f, line + len, (size_t)(colon - line) - len);
        if (colon != NULL)
            w->text = trimmed(r->f, colon + 1, n - (size_t)(colon + 1 - line));
        return true;
    }
    return false;
}

/* What is behind "becomes:", "placed:" or "parts:" is complete. */
static void end_after(reader *r)
{
    text_wanted *w = r->after != NULL ? &r->now->wanted[r->now->n_wanted - 1] : NULL;

    if (w != NULL && w->kind == TEXT_BECOMES) {
        if (strcmp(r->after, "the same") != 0)
            r->last_after = r->after;
        else if (r->last_after == NULL)
            bad(r, "there is nothing that this is the same as");
        w->written = r->last_after;
        w->text = whole(r, r->last_after, r->now->before);
    } else if (w != NULL) {
        w->text = r->after;
    }
    r->after = NULL;
}

static text_case *new_case(reader *r)
{
    text_file *f = r->f;

    if (r->before == NULL)
        bad(r, "there is no graph in front of this");
    if (r->run == NULL)
        bad(r, "no 'run:' says what is done with this graph");
    f->at = realloc(f->at, (f->n_case + 1) * sizeof *f->at);
    assert_non_null(f->at);
    r->now = &f->at[f->n_case++];
    memset(r->now, 0, sizeof *r->now);
    r->now->run = r->run;
    r->now->arg = r->arg;
    if (strcmp(r->before, "the same") != 0)
        r->last_before = r->before;
    else if (r->last_before == NULL)
        bad(r, "there is no graph that this is the same as");
    r->now->before = whole(r, r->last_before, NULL);
    r->before = NULL;
    return r->now;
}

static void read_wanted(reader *r, const char *line, size_t n, const text_wanted *w, int first)
{
    if (r->before != NULL) {
        new_case(r)->line = first;
        r->now->from = (size_t)(line - r->f->text);
    }
    if (r->now == NULL || r->now->n_wanted == TEXT_MAX_WANTED)
        bad(r, "there is no graph in front of this, or too much is said of it");
    end_after(r);
    r->now->wanted[r->now->n_wanted++] = *w;
    r->now->to = (size_t)(line - r->f->text) + n;
    if (w->kind == TEXT_BECOMES || w->kind == TEXT_PLACED || w->kind == TEXT_PARTS)
        r->after = w->text;
}

static void read_lines(reader *r)
{
    int first = 0;

    for (const char *line = r->f->text; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        text_wanted w;

        r->line++;
        if (n == 0) {
            if (r->before != NULL)
                bad(r, "nothing is said about the graph above");
            if (r->now != NULL)
                end_after(r);
            r->now = NULL;
        } else if (*line == '#') {
            ;
        } else if (wanted(r, line, n, &w)) {
            read_wanted(r, line, n, &w, first);
        } else if (r->after != NULL) {
            r->after = join(r->f, r->after, "\n", copy(r->f, line, n));
            r->now->to = (size_t)(line - r->f->text) + n;
        } else if (r->before != NULL) {
            r->before = join(r->f, r->before, "\n", copy(r->f, line, n));
        } else if (r->in_frame && *line == ' ') {
            r->frame = join(r->f, r->frame, "\n", copy(r->f, line, n));
        } else if (!set(r, line, n)) {
            r->now = NULL;
            first = r->line;
            r->before = copy(r->f, line, n);
        }
        line += n + (line[n] == '\n');
    }
    if (r->before != NULL)
        bad(r, "nothing is said about the graph above");
    if (r->now != NULL)
        end_after(r);
}

void text_open(text_file *f, const char *path)
{
    FILE *in = fopen(path, "rb");
    reader r = {.f = f, .path = path};
    size_t n;

    memset(f, 0, sizeof *f);
    if (in == NULL)
        fail_msg("%s: cannot be opened", path);
    f->text = calloc(1, 1 << 20);
    assert_non_null(f->text);
    n = fread(f->text, 1, (1 << 20) - 1, in);
    fclose(in);
    assert_true(n > 0 && n < (1 << 20) - 1);
    read_lines(&r);
    if (f->n_case == 0)
        bad(&r, "there is no graph in this file");
}

void text_close(text_file *f)
{
    for (size_t i = 0; i < f->n_kept; i++)
        free(f->kept[i]);
    free(f->kept);
    free(f->at);
    free(f->text);
}

void text_each(const char *name, void (*visit)(void *ctx, const text_case *c), void *ctx)
{
    char pattern[4096];
    glob_t found;

    snprintf(pattern, sizeof pattern, QDQ_SOURCE_DIR "/tests/text/%s%s",
             strchr(name, '/') != NULL ? "" : "*/", name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        text_file f;

        text_open(&f, found.gl_pathv[i]);
        for (size_t k = 0; k < f.n_case; k++)
            visit(ctx, &f.at[k]);
        text_close(&f);
    }
    globfree(&found);
}

static bool is_start(int opset, int low)
{
    static const int common[] = {7, 8, 9, 11, 13, 17, 18};

    for (size_t i = 0; i < QDQ_COUNT(common); i++)
        if (opset == common[i])
            return true;
    return opset == low;
}

void text_each_raise(const char *range, void (*visit)(void *ctx, int from, int to), void *ctx)
{
    int low, high;

    assert_int_equal(sscanf(range, "%d..%d", &low, &high), 2);
    for (int from = low; from <= high; from++)
        for (int to = from + 1; is_start(from, low) && to <= TEXT_NEWEST; to++)
            visit(ctx, from, to);
}

/* --- the other way ---------------------------------------------------------------------------- */

/* As the files are laid out: one line, where that is not too long; else initializers fill lines,
 * and the last brace goes up. */
static char *lay_out(char *s)
{
    size_t column = strlen("becomes: "), most = 100;
    bool one = strlen(s) + column <= 85, list = *s == '<';
    char *out = malloc(2 * strlen(s) + 1), *to = out;

    assert_non_null(out);
    for (const char *line = s; *line != '\0';) {
        const char *text = one || list ? skip_spaces(line) : line;
        size_t n = strcspn(text, "\n"), next = text[n] != '\0';
        bool tight = to > out && (to[-1] == '<' || *text == '>');

        if (n == 0) { /* between functions: it would be the end here */
            line = text + next;
            continue;
        }
        if (to > out && (one || list || *text == '}') && column + n + (tight ? 0 : 2) <= most) {
            if (!tight)
                *to++ = ' ';
            column += n + 1;
        } else if (to > out) {
            to += sprintf(to, list ? "\n    " : "\n");
            column = n + (list ? 4 : 0);
        } else {
            column += n;
        }
        memcpy(to, text, n);
        to += n;
        list = list && *text != '>';
        line = text + n + next;
    }
    *to = '\0';
    free(s);
    return out;
}

char *text_shorten(const char *before, const char *after)
{
    const char *from[] = {body_start(after), interface_end(after)};
    const char *same[] = {body_start(before), interface_end(before)};
    char *s = malloc(strlen(after) + 10);
    size_t n;

    assert_non_null(s);
    strcpy(s, after);
    for (int i = 0; i < 2; i++)
        if (from[i] - after == same[i] - before &&
            strncmp(after, before, (size_t)(from[i] - after)) == 0) {
            sprintf(s, "%s%s", i == 1 && *from[i] == '{' ? "<> " : "", from[i]);
            break;
        }
    for (n = strlen(s); n > 0 && s[n - 1] == '\n';)
        s[--n] = '\0';
    return lay_out(s);
}

char *text_join_lines(const char *lines)
{
    size_t column = strlen("placed: ");
    char *out = malloc(2 * strlen(lines) + 2), *to = out;

    assert_non_null(out);
    strcpy(out, "-");
    while (*lines != '\0') {
        size_t n = strcspn(lines, "\n"), last = lines[n + 1] == '\0' ? 0 : 2;

        if (to > out && column + 1 + n + last > 100) {
            to += sprintf(to, "\n    ");
            column = 4;
        } else if (to > out) {
            *to++ = ' ';
            column++;
        }
        to += sprintf(to, "%.*s%s", (int)n, lines, last > 0 ? " |" : "");
        column += n + last;
        lines += n + 1;
    }
    return out;
}

bool text_same_words(const char *a, const char *b)
{
    for (;; a++, b++) {
        if (isspace((unsigned char)*a) && isspace((unsigned char)*b))
            a = skip_spaces(a), b = skip_spaces(b);
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}
