/* qdq/status.h - status codes, errors, and callbacks for long-running calls.
 *
 * Every fallible function returns a qdq_status and takes a qdq_error as its last argument (NULL is
 * allowed). On failure all outputs are NULL or zero and the error's text is one line: where, what
 * was found, what was expected. The text may improve between releases, the codes never change their
 * meaning.
 *
 * Option structs begin with `size`: initialize each with its QDQ_..._INIT. Members are only
 * appended, so a program that was compiled against fewer of them works with a newer libqdq. One
 * that sets a member that libqdq does not know yet gets QDQ_E_USAGE, with the name of the struct.
 *
 * There is no global state. Different objects may be used by different threads at once. Any number
 * of threads may use one object that calls take as const, and one engine; a session, data and what
 * calls take without const belong to one thread at a time. Callbacks come on the thread of the
 * call.
 *
 * Results that a call allocates may get members at their end, too: copy none by sizeof. Elements of
 * lists, structs inside of structs and structs that the caller provides keep their size. Members of
 * enums keep their numbers, and new ones may be added: a switch needs a default. */
#ifndef QDQ_STATUS_H
#define QDQ_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QDQ_API          __attribute__((visibility("default")))
#define QDQ_MUST_USE     __attribute__((warn_unused_result))
#define QDQ_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define QDQ_API
#define QDQ_MUST_USE
#define QDQ_PRINTF(f, a)
#endif

typedef enum qdq_status {
    QDQ_OK = 0,
    /* the call or its options are invalid */
    QDQ_E_USAGE,
    /* out of memory */
    QDQ_E_NOMEM,
    /* a file or system call failed */
    QDQ_E_IO,
    /* the input is malformed */
    QDQ_E_FORMAT,
    /* the input is valid, but qdq does not implement it */
    QDQ_E_UNSUPPORTED,
    /* the inference engine failed or is missing */
    QDQ_E_ENGINE,
    /* the accuracy goal was missed */
    QDQ_E_GOAL,
    /* the caller's cancel flag was set */
    QDQ_E_INTERRUPTED,
    /* a defect in qdq itself: please report it */
    QDQ_E_BUG
} qdq_status;

/* An error. Its storage is fixed, so that "out of memory" needs no memory. */
typedef struct qdq_error {
    qdq_status code;
    char text[1000];
} qdq_error;

#define QDQ_ERROR_INIT                                                                             \
    {                                                                                              \
        QDQ_OK, ""                                                                                 \
    }

/* The name of a code, for example "format". Never NULL. */
QDQ_API const char *qdq_status_name(qdq_status code);

/* The version: "0.1.0". Static. */
QDQ_API const char *qdq_version(void);

/* Frees memory that a function's comment says is freed with qdq_free(). NULL is allowed. */
QDQ_API void qdq_free(void *p);

/* A flag that one thread or a signal handler sets, and that long calls read. qdq_cancel_set() is
 * async-signal-safe. qdq_cancel_new() returns NULL if out of memory; the flag is freed with
 * qdq_cancel_free(). */
typedef struct qdq_cancel qdq_cancel;

QDQ_API qdq_cancel *qdq_cancel_new(void);
QDQ_API void qdq_cancel_set(qdq_cancel *c);
/* c NULL: false. */
QDQ_API bool qdq_cancel_is_set(const qdq_cancel *c);
QDQ_API void qdq_cancel_free(qdq_cancel *c);

typedef enum qdq_log_level {
    QDQ_LOG_ERROR,
    QDQ_LOG_WARNING,
    QDQ_LOG_INFO,
    QDQ_LOG_DEBUG
} qdq_log_level;

/* Callbacks for a long-running call, on the thread of the call. Every member may be zero. */
typedef struct qdq_job {
    /* sizeof this struct */
    size_t size;
    /* first argument of the callbacks */
    void *ctx;
    /* Receives one line, without newline. */
    void (*log)(void *ctx, qdq_log_level level, const char *text);
    /* Reports progress; total 0: unknown. */
    void (*progress)(void *ctx, const char *stage, uint64_t done, uint64_t total);
    const qdq_cancel *cancel;
} qdq_job;

#define QDQ_JOB_INIT                                                                               \
    {                                                                                              \
        .size = sizeof(qdq_job)                                                                    \
    }

#ifdef __cplusplus
}
#endif
#endif /* QDQ_STATUS_H */
