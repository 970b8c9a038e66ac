/* json_line.c - walks the text once and spells the path of every place as it goes. */
#include "base/json_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64, PATH_MAX_SIZE = 1024 };

typedef struct scanner {
    const char *at, *end;
    size_t line;
    /* of the place that is being read */
    char path[PATH_MAX_SIZE];
    size_t size;
    struct {
        /* of the container itself */
        size_t path_size;
        /* of the item, in a list */
        size_t index;
        bool is_list;
    } open[DEPTH_MAX];
    int depth;
    /* deeper or longer than any document that is wanted here */
    bool lost;
} scanner;

static void skip_blanks(scanner *s)
{
    while (s->at < s->end && strchr(" \t\r\n:,", *s->at) != NULL && *s->at != '\0') {
        s->line += *s->at == '\n';
        s->at++;
    }
}

/* Behind the opening quote; gives what stands between the quotes, escapes as they are. */
static const char *skip_string(scanner *s, size_t *size)
{
    const char *from = ++s->at;

    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    *size = (size_t)(s->at - from);
    s->at += s->at < s->end;
    return from;
}

static void add_to_path(scanner *s, const char *text, size_t size)
{
    if (size >= sizeof s->path - s->size) {
        s->lost = true;
        return;
    }
    memcpy(s->path + s->size, text, size);
    s->size += size;
}

/* "key", or ".key" behind something */
static void enter_member(scanner *s, const char *key, size_t size)
{
    s->size = s->open[s->depth - 1].path_size;
    if (s->size > 0)
        add_to_path(s, ".", 1);
    add_to_path(s, key, size);
}

static void enter_item(scanner *s)
{
    char index[32];
    int n = snprintf(index, sizeof index, "[%zu]", s->open[s->depth - 1].index++);

    s->size = s->open[s->depth - 1].path_size;
    add_to_path(s, index, (size_t)n);
}

static void open_container(scanner *s)
{
    if (s->depth == DEPTH_MAX) {
        s->lost = true;
        return;
    }
    s->open[s->depth].path_size = s->size;
    s->open[s->depth].index = 0;
    s->open[s->depth].is_list = *s->at == '[';
    s->depth++;
    s->at++;
}

static bool is_at(const scanner *s, size_t size, const char *path)
{
    return strlen(path) == size && memcmp(s->path, path, size) == 0;
}

static void close_container(scanner *s)
{
    s->depth -= s->depth > 0;
    s->at++;
}

/* Past a container's beginning, or a whole scalar. */
static void pass_value(scanner *s)
{
    size_t n;

    if (s->at == s->end)
        return;
    if (*s->at == '{' || *s->at == '[') {
        open_container(s);
    } else if (*s->at == '"') {
        skip_string(s, &n);
    } else {
        do
            s->at++;
        while (s->at < s->end && strchr(" \t\r\n,]}", *s->at) == NULL);
    }
}

size_t qdq_json_line(const char *text, size_t size, const char *path, const char *key)
{
    scanner s = {.at = text, .end = text + size, .line = 1};
    size_t found = 0;

    while (skip_blanks(&s), s.at < s.end && !s.lost) {
        if (*s.at == ']' || *s.at == '}') {
            close_container(&s);
            continue;
        }
        if (s.depth > 0 && s.open[s.depth - 1].is_list) {
            enter_item(&s);
        } else if (s.depth > 0 && *s.at == '"') {
            size_t n;
            const char *name = skip_string(&s, &n);

            if (key != NULL && is_at(&s, s.open[s.depth - 1].path_size, path) && strlen(key) == n &&
                memcmp(name, key, n) == 0)
                return s.line;
            enter_member(&s, name, n);
            skip_blanks(&s);
        }
        if (s.at < s.end && *s.at == '{' && is_at(&s, s.size, path))
            found = s.line;
        pass_value(&s);
    }
    return found;
}
