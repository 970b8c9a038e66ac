/* remote_host.c - takes the text of a host apart. The user's own ssh is used, with its
 * configuration and keys; it never asks for a password, because there may be no one to answer. */
#include "engine/remote/remote_host.h"

#include <ctype.h>
#include <string.h>

#include "base/fail.h"

#define EXPECTED "expected ssh://[user@]name[:port][/path] or exec:COMMAND"

/* Words that neither ssh nor a shell there takes for something else. */
static bool is_plain(const char *text, const char *also)
{
    if (text[0] == '\0' || text[0] == '-')
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr(also, *c) == NULL)
            return false;
    return true;
}

static const char **new_argv(qdq_arena *arena, const char *const *words, size_t n)
{
    const char **argv = qdq_arena_array(arena, n + 1, sizeof *argv);

    for (size_t i = 0; argv != NULL && i < n; i++)
        if ((argv[i] = words[i]) == NULL)
            return NULL;
    return argv;
}

static const char *const *ssh_argv(const qdq_remote_host *h, qdq_arena *arena, const char *command)
{
    const int wait = h->timeout_s < 1 ? 1 : h->timeout_s > 3600 ? 3600 : (int)h->timeout_s;
    const char *const words[] = {"ssh",          "-T",
                                 "-o",           "BatchMode=yes",
                                 "-o",           qdq_arena_printf(arena, "ConnectTimeout=%d", wait),
                                 "-p",           h->port,
                                 h->destination, command};
    const char *const without_port[] = {words[0], words[1], words[2], words[3],
                                        words[4], words[5], words[8], words[9]};

    return h->port != NULL ? new_argv(arena, words, QDQ_COUNT(words))
                           : new_argv(arena, without_port, QDQ_COUNT(without_port));
}

static const char *const *exec_argv(const qdq_remote_host *h, qdq_arena *arena, const char *command)
{
    const char *line =
        command[0] == '\0' ? h->command : qdq_arena_printf(arena, "%s %s", h->command, command);
    const char *const words[] = {"sh", "-c", line};

    return new_argv(arena, words, QDQ_COUNT(words));
}

/* "[user@]name[:port][/path]"; a name in brackets is an address with colons. */
static qdq_status read_ssh(const char *text, qdq_arena *arena, qdq_remote_host *h, qdq_error *err)
{
    const char *slash = strchr(text, '/');
    char *place = slash == NULL ? qdq_arena_strdup(arena, text)
                                : qdq_arena_strndup(arena, text, (size_t)(slash - text));

    QDQ_NEED(place != NULL, err);
    if (slash != NULL && strcmp(slash, "/") != 0)
        h->program = slash;
    char *at = strrchr(place, '@'), *name = at != NULL ? at + 1 : place;
    char *end = name[0] == '[' ? strchr(name, ']') : name;
    char *colon = end != NULL ? strchr(end, ':') : NULL;
    if (colon != NULL) {
        *colon = '\0';
        h->port = colon + 1;
    }
    if (end != NULL && name[0] == '[') { /* ssh takes an address without them */
        *end = '\0';
        memmove(name, name + 1, strlen(name));
    }
    h->destination = place;
    if (end == NULL || !is_plain(place, "@._-:%+") || name[0] == '-' || name[0] == '\0' ||
        (h->port != NULL && (h->port[0] == '\0' || strlen(h->port) > 5 ||
                             strspn(h->port, "0123456789") != strlen(h->port))) ||
        (h->program != NULL && !is_plain(h->program, "/._-+")))
        return qdq_fail(err, QDQ_E_USAGE, "host '%s': " EXPECTED, h->text);
    return QDQ_OK;
}

/* Shells of logins that are not interactive look for programs in few folders. */
static const char *const *serve_by_ssh(const qdq_remote_host *h, qdq_arena *arena)
{
    const char *command =
        h->program != NULL ? qdq_arena_printf(arena, "exec %s --serve", h->program)
                           : "exec sh -c 'PATH=\"$HOME/.local/bin:$PATH\" exec qdq-worker --serve'";

    return command != NULL ? ssh_argv(h, arena, command) : NULL;
}

/* A command with --serve is whole; another one runs programs there. */
static bool is_whole(const char *command)
{
    return strstr(command, "--serve") != NULL;
}

qdq_status qdq_remote_host_read(const char *text, double timeout_s, qdq_arena *arena,
                                qdq_remote_host *out, qdq_error *err)
{
    *out = (qdq_remote_host){.text = qdq_arena_strdup(arena, text),
                             .timeout_s = timeout_s > 0 ? timeout_s : 60};
    QDQ_NEED(out->text != NULL, err);
    if (strncmp(out->text, "ssh://", 6) == 0) {
        out->is_ssh = true;
        QDQ_TRY(read_ssh(out->text + 6, arena, out, err));
        out->serve = serve_by_ssh(out, arena);
    } else if (strncmp(out->text, "exec:", 5) == 0 &&
               strspn(out->text + 5, " ") < strlen(text) - 5) {
        out->command = out->text + 5;
        out->serve = exec_argv(out, arena, is_whole(out->command) ? "" : "qdq-worker --serve");
    } else {
        return qdq_fail(err, QDQ_E_USAGE, "host '%s': " EXPECTED, text);
    }
    return qdq_allocated(out->serve != NULL, err);
}

const char *const *qdq_remote_host_run(const qdq_remote_host *h, qdq_arena *arena,
                                       const char *command)
{
    if (h->is_ssh)
        return ssh_argv(h, arena, command);
    return is_whole(h->command) ? NULL : exec_argv(h, arena, command);
}
