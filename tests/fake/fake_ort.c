/* fake_ort.c - libraries that look like ONNX Runtime until one asks: FAKE_VERSION is what they
 * report, and FAKE_TABLE says what they have behind it. */
#include <stdint.h>
#include <stdlib.h>

typedef void (*slot)(void);

struct base {
    const slot *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

const struct base *OrtGetApiBase(void);

#if FAKE_TABLE /* a table whose functions do something else than their numbers say */
static void *create_status(int code, const char *text)
{
    (void)code;
    (void)text;
    return malloc(1);
}

static int wrong_code(const void *status)
{
    (void)status;
    return 77;
}

static void release_status(void *status)
{
    free(status);
}

static const slot *get_api(uint32_t version)
{
    static slot table[500];

    (void)version;
    table[0] = (slot)create_status;
    table[1] = (slot)wrong_code;
    table[93] = (slot)release_status;
    return table;
}
#else
static const slot *get_api(uint32_t version)
{
    (void)version;
    return NULL;
}
#endif

static const char *get_version(void)
{
    return FAKE_VERSION;
}

const struct base *OrtGetApiBase(void)
{
    static const struct base base = {get_api, get_version};

    return &base;
}
