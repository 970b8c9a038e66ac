/* change_text.c - see the header. Words are put in place of words, lines are moved, doubled and taken out. libFuzzer
 * finds its entry by name. */
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
                                      "-1e-40",
                                      "nan",
                                      "inf"};

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

/* --- words -------------------------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* The word at or behind a random place: *at and its size; 0 if there is none. */
static size_t find_word(const char *text, size_t size, uint64_t *state, size_t *at)
{
    size_t i = below(state, size), end;

    while (i > 0 && is_word(text[i - 1]))
        i--;
    while (i < size && !is_word(text[i]))
        i++;
    for (end = i; end < size && is_word(text[end]);)
        end++;
    *at = i;
    return end - i;
}

static size_t replace(char *text, size_t size, size_t max, size_t at, size_t old, const char *by, size_t n)
{
    if (size - old + n > max)
        return size;
    memmove(text + at + n, text + at + old, size - at - old);
    memcpy(text + at, by, n);
    return size - old + n;
}

/* By a word of the text that begins in the same way: a letter or a digit. */
static size_t swap_word(char *text, size_t size, size_t max, uint64_t *state, size_t at, size_t n)
{
    char by[MAX_WORD];

    for (int tries = 0; tries < 20; tries++) {
        size_t from, m = find_word(text, size, state, &from);

        if (m == 0 || m > sizeof by ||
            !isalpha((unsigned char)text[from]) != !isalpha((unsigned char)text[at]))
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
    if (below(state, 3) == 0)
        by = isupper((unsigned char)text[at]) ? operators[below(state, sizeof operators / sizeof *operators)]
             : !isalpha((unsigned char)text[at]) ? numbers[below(state, sizeof numbers / sizeof *numbers)]
                                                 : NULL;
    if (by != NULL)
        return replace(text, size, max, at, n, by, strlen(by));
    return swap_word(text, size, max, state, at, n);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static size_t find_line(const char *text, size_t size, uint64_t *state, size_t *at)
{
    size_t i = below(state, size), end;

    while (i > 0 && text[i - 1] != '\n')
        i--;
    for (end = i; end < size && text[end] != '\n';)
        end++;
    *at = i;
    return end < size ? end + 1 - i : end - i;
}

static size_t drop_line(char *text, size_t size, uint64_t *state)
{
    size_t at, n = find_line(text, size, state, &at);

    return replace(text, size, size, at, n, "", 0);
}

/* A second node in front of the first; what it computes has a name of its own, which some word behind it gets, too,
 * so that it is read. */
static size_t double_line(char *text, size_t size, size_t max, uint64_t *state)
{
    size_t at, n = find_line(text, size, state, &at), word = at, end;
    char line[1024], name[MAX_WORD];

    while (word < at + n && !is_word(text[word]))
        word++;
    for (end = word; end < at + n && is_word(text[end]);)
        end++;
    if (n + MAX_WORD > sizeof line || end - word + 8 > sizeof name || end == word)
        return size;
    int m =
        snprintf(name, sizeof name, "%.*s_%u", (int)(end - word), text + word, (unsigned)below(state, 1000));
    memcpy(line, text + at, n);
    n = replace(line, n, sizeof line, word - at, end - word, name, (size_t)m);
    size = replace(text, size, max, at, 0, line, n);
    for (int tries = 0; tries < 20 && at + n < size; tries++) {
        size_t rest = at + n, w, k = find_word(text + rest, size - rest, state, &w);

        if (k > 0 && (islower((unsigned char)text[rest + w]) || text[rest + w] == '_'))
            return replace(text, size, max, rest + w, k, name, (size_t)m);
    }
    return size;
}

static size_t move_line(char *text, size_t size, uint64_t *state)
{
    size_t at, n = find_line(text, size, state, &at), to;
    char line[1024];

    if (n > sizeof line)
        return size;
    memcpy(line, text + at, n);
    size_t left = replace(text, size, size, at, n, "", 0);
    find_line(text, left, state, &to);
    return replace(text, left, size, to, 0, line, n);
}

/* --- entry -------------------------------------------------------------------------------------------------------- */

size_t qdq_fuzz_change_text(char *text, size_t size, size_t max, uint64_t *state)
{
    switch (below(state, 10)) {
    case 0:
        return drop_line(text, size, state);
    case 1:
    case 2:
        return double_line(text, size, max, state);
    case 3:
        return move_line(text, size, state);
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
