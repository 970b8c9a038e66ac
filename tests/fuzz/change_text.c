/* change_text.c - see the header. Words are put in place of words, lines are moved, doubled and
 * taken out. libFuzzer finds its entry by name. */
#include "fuzz/change_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 64 };

static const char *const operators[] = {
#define OP(op, name, flags, infer, values) name,
#include "ir/ops.def"
#undef OP
};

static const char *const numbers[] = {"-1",
                                      "0",
                                      "1",
                                      "2",
                                      "3",
                                      "7",
                                      "-2147483648",
                                      "2147483647",
                                      "1048576",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "0.5",
                                      "1e30",
                                      "-1e-40"};

static const char *const types[] = {"float", "double",   "float16", "bfloat16", "int8",
                                    "uint8", "int32",    "uint32",  "int64",    "uint64",
                                    "bool",  "int4",     "uint4",   "string",   "float8e4m3fn",
                                    "int16", "complex64"};

#define PICK(list, state) (list)[below((state), sizeof(list) / sizeof *(list))]

uint64_t qdq_fuzz_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
    return n == 0 ? 0 : (size_t)(qdq_fuzz_random(state) % n);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* Behind the model's header, which is seldom worth a change. */
static size_t find_place(const char *text, size_t size, uint64_t *state)
{
    const char *end = *text == '<' ? memchr(text, '\n', size) : NULL;
    size_t header = end != NULL && below(state, 50) > 0 ? (size_t)(end - text) : 0;

    return header + below(state, size - header);
}

/* The word at or behind a random place: *at and its size; 0 if there is none. */
static size_t find_word(const char *text, size_t size, uint64_t *state, size_t *at)
{
    size_t i = find_place(text, size, state), end;

    while (i > 0 && is_word(text[i - 1]))
        i--;
    while (i < size && !is_word(text[i]))
        i++;
    for (end = i; end < size && is_word(text[end]);)
        end++;
    *at = i;
    return end - i;
}

static size_t replace(char *text, size_t size, size_t max, size_t at, size_t old, const char *by,
                      size_t n)
{
    if (size - old + n > max)
        return size;
    memmove(text + at + n, text + at + old, size - at - old);
    memcpy(text + at, by, n);
    return size - old + n;
}

/* KEY: an attribute's name; RESULT: what a node computes, whose name must be its own. */
typedef enum word_class { NUMBER, OPERATOR, TYPE, NAME, KEY, RESULT } word_class;

static bool is_type(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i]) == n && memcmp(types[i], word, n) == 0)
            return true;
    return false;
}

static word_class class_of(const char *text, size_t size, size_t at, size_t n)
{
    size_t next = at + n, before = at;

    while (next < size && text[next] == ' ')
        next++;
    while (before > 0 && text[before - 1] == ' ')
        before--;
    if (is_type(text + at, n))
        return TYPE;
    if (isdigit((unsigned char)text[at]) || text[at] == '-')
        return NUMBER;
    if (isupper((unsigned char)text[at]) || memchr(text + at, '.', n) != NULL)
        return OPERATOR;
    if (before == 0 || text[before - 1] == '\n')
        return RESULT;
    return next < size && (text[next] == '=' || text[next] == ':') ? KEY : NAME;
}

/* By a word of the text that is of the same class. */
static size_t swap_word(char *text, size_t size, size_t max, uint64_t *state, size_t at, size_t n)
{
    word_class class = class_of(text, size, at, n);
    char by[MAX_WORD];

    for (int tries = 0; tries < 20 && class != RESULT; tries++) {
        size_t from, m = find_word(text, size, state, &from);

        if (m == 0 || m > sizeof by || class_of(text, size, from, m) != class)
            continue;
        memcpy(by, text + from, m);
        return replace(text, size, max, at, n, by, m);
    }
    return size;
}

static size_t change_word(char *text, size_t size, size_t max, uint64_t *state)
{
    size_t at, n = find_word(text, size, state, &at);
    const char *by = NULL;

    if (n == 0)
        return size;
    switch (class_of(text, size, at, n)) {
    case NUMBER:
        by = PICK(numbers, state);
        break;
    case OPERATOR:
        by = PICK(operators, state);
        break;
    case TYPE:
        by = PICK(types, state);
        break;
    case NAME:
    case KEY:
    case RESULT:
        break;
    }
    if (by != NULL && below(state, 3) == 0)
        return replace(text, size, max, at, n, by, strlen(by));
    return swap_word(text, size, max, state, at, n);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A node on a line of its own: without it, or with another such line, there is still a model. */
static bool is_node(const char *line, size_t n)
{
    int braces = 0, angles = 0;

    for (size_t i = 0; i < n; i++) {
        braces += (line[i] == '{') - (line[i] == '}');
        angles += (line[i] == '<') - (line[i] == '>' && i > 0 && line[i - 1] != '=');
    }
    return n > 3 && line[0] == ' ' && line[n - 1] == '\n' && line[n - 2] == ')' && braces == 0 &&
           angles == 0;
}

/* Its size; 0: none found. */
static size_t find_node(const char *text, size_t size, uint64_t *state, size_t *at)
{
    for (int tries = 0; tries < 20; tries++) {
        size_t i = find_place(text, size, state), end;

        while (i > 0 && text[i - 1] != '\n')
            i--;
        for (end = i; end < size && text[end] != '\n';)
            end++;
        *at = i;
        if (end < size && is_node(text + i, end + 1 - i))
            return end + 1 - i;
    }
    return 0;
}

static size_t drop_node(char *text, size_t size, uint64_t *state)
{
    size_t at, n = find_node(text, size, state, &at);

    return replace(text, size, size, at, n, "", 0);
}

/* A second node in front of the first; what it computes has a name of its own, which some word
 * behind it gets, too, so that it is read. */
static size_t double_node(char *text, size_t size, size_t max, uint64_t *state)
{
    size_t at, n = find_node(text, size, state, &at), word = at, end;
    char line[1024], name[MAX_WORD];

    while (word < at + n && !is_word(text[word]))
        word++;
    for (end = word; end < at + n && is_word(text[end]);)
        end++;
    if (n == 0 || n + MAX_WORD > sizeof line || end - word + 8 > sizeof name || end == word)
        return size;
    int m = snprintf(name, sizeof name, "%.*s_%u", (int)(end - word), text + word,
                     (unsigned)below(state, 1000));
    memcpy(line, text + at, n);
    n = replace(line, n, sizeof line, word - at, end - word, name, (size_t)m);
    size = replace(text, size, max, at, 0, line, n);
    for (int tries = 0; tries < 20 && at + n < size; tries++) {
        size_t rest = at + n, w, k = find_word(text + rest, size - rest, state, &w);

        if (k > 0 && class_of(text, size, rest + w, k) == NAME)
            return replace(text, size, max, rest + w, k, name, (size_t)m);
    }
    return size;
}

static size_t move_node(char *text, size_t size, uint64_t *state)
{
    size_t at, n = find_node(text, size, state, &at), to;
    char line[1024];

    if (n == 0 || n > sizeof line)
        return size;
    memcpy(line, text + at, n);
    size_t left = replace(text, size, size, at, n, "", 0);
    if (find_node(text, left, state, &to) == 0)
        return left;
    return replace(text, left, size, to, 0, line, n);
}

/* --- entry ------------------------------------------------------------------------------------ */

size_t qdq_fuzz_change_text(char *text, size_t size, size_t max, uint64_t *state)
{
    switch (below(state, 10)) {
    case 0:
        return drop_node(text, size, state);
    case 1:
    case 2:
        return double_node(text, size, max, state);
    case 3:
        return move_node(text, size, state);
    default:
        return change_word(text, size, max, state);
    }
}

/* Of libFuzzer; not there when inputs are replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t state = seed;

    if (size == 0 || memchr(data, '\0', size) != NULL || below(&state, 5) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (size_t n = 1 + below(&state, 3); n > 0 && size > 0; n--)
        size = qdq_fuzz_change_text((char *)data, size, max_size, &state);
    return size > 0 ? size : 1;
}
