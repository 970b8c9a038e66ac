/* twice_ort.c - a library with an operator for ONNX Runtime, test.qdq.Twice: y = 2 x of float32.
 * Written after the documentation of OrtCustomOp, in the form of API 12, which later versions read,
 * too; functions of the library are taken from its table by number, as src/engine/ort/ort_api.h
 * does. With NO_ENTRY it has an operator, but no function that registers it. */
#include <stddef.h>
#include <stdint.h>

typedef struct ort_custom_op ort_custom_op;
typedef void (*fn)(void);

/* OrtCustomOp of onnxruntime_c_api.h, up to API 12. */
struct ort_custom_op {
    uint32_t version;
    void *(*create_kernel)(const ort_custom_op *, const void *api, const void *info);
    const char *(*name)(const ort_custom_op *);
    const char *(*provider)(const ort_custom_op *);
    int (*input_type)(const ort_custom_op *, size_t i);
    size_t (*inputs)(const ort_custom_op *);
    int (*output_type)(const ort_custom_op *, size_t i);
    size_t (*outputs)(const ort_custom_op *);
    void (*compute)(void *kernel, void *context);
    void (*destroy)(void *kernel);
    int (*input_characteristic)(const ort_custom_op *, size_t i);
    int (*output_characteristic)(const ort_custom_op *, size_t i);
};

enum { API = 12, FLOAT = 1 };

typedef struct api_base {
    const fn *(*get)(uint32_t version);
    const char *(*version)(void);
} api_base;

static const fn *table;

/* Numbers are those of the reference: append-only. */
#define CALL(i, type) ((type)table[i])
typedef void *(*get_input)(const void *context, size_t i, const void **value);
typedef void *(*get_output)(void *context, size_t i, const int64_t *dims, size_t rank,
                            void **value);
typedef void *(*get_data)(void *value, void **data);
typedef void *(*get_info)(const void *value, void **info);
typedef void *(*get_size)(const void *info, size_t *n);
typedef void *(*get_dims)(const void *info, int64_t *dims, size_t rank);
typedef void (*release_info)(void *info);
typedef void (*release_domain)(void *domain);
typedef void *(*new_domain)(const char *name, void **domain);
typedef void *(*add_op)(void *domain, const ort_custom_op *op);
typedef void *(*add_domain)(void *options, void *domain);

static void *create_kernel(const ort_custom_op *op, const void *api, const void *info)
{
    static char kernel; /* it has no state, but NULL would mean that there is none */

    (void)op, (void)api, (void)info;
    return &kernel;
}

static const char *name(const ort_custom_op *op)
{
    (void)op;
    return "Twice";
}

static const char *provider(const ort_custom_op *op)
{
    (void)op;
    return NULL; /* the processor */
}

static int type(const ort_custom_op *op, size_t i)
{
    (void)op, (void)i;
    return FLOAT;
}

static size_t one(const ort_custom_op *op)
{
    (void)op;
    return 1;
}

static int required(const ort_custom_op *op, size_t i)
{
    (void)op, (void)i;
    return 0;
}

/* There is no way to tell of a failure in this form, and none of these calls fails on a tensor of
 * the declared type. */
static void compute(void *kernel, void *context)
{
    const void *x = NULL;
    void *y = NULL, *info = NULL, *from = NULL, *to = NULL;
    int64_t dims[8];
    size_t rank = 0, n = 0;

    (void)kernel;
    CALL(90, get_input)(context, 0, &x);
    CALL(65, get_info)(x, &info);
    CALL(61, get_size)(info, &rank);
    CALL(64, get_size)(info, &n);
    if (rank <= 8)
        CALL(62, get_dims)(info, dims, rank);
    CALL(99, release_info)(info);
    CALL(91, get_output)(context, 0, dims, rank <= 8 ? rank : 0, &y);
    CALL(51, get_data)((void *)(uintptr_t)x, &from);
    CALL(51, get_data)(y, &to);
    for (size_t i = 0; i < n && rank <= 8; i++)
        ((float *)to)[i] = 2 * ((const float *)from)[i];
}

static void destroy(void *kernel)
{
    (void)kernel;
}

static const ort_custom_op twice = {API,  create_kernel, name,    provider, type,     one,
                                    type, one,           compute, destroy,  required, required};

#ifdef NO_ENTRY
const void *twice_is_here(void);
const void *twice_is_here(void)
{
    table = NULL;
    return &twice;
}
#else
/* as long as the library, which is there as long as a session that refers to it */
static void *domain;

__attribute__((destructor)) static void release(void)
{
    if (domain != NULL)
        CALL(101, release_domain)(domain);
}

void *RegisterCustomOps(void *options, const api_base *base);
void *RegisterCustomOps(void *options, const api_base *base)
{
    void *status = NULL;

    table = base->get(API);
    if (domain == NULL) {
        status = CALL(26, new_domain)("test.qdq", &domain);
        if (status == NULL)
            status = CALL(27, add_op)(domain, &twice);
    }
    return status != NULL ? status : CALL(28, add_domain)(options, domain);
}
#endif
