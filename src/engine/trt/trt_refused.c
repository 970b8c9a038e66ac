/* trt_refused.c - options that trtexec refused, as text for who remembers them, and what it cannot
 * do without them. */

#include "base/buf.h"
#include "base/fail.h"
#include "engine/trt/trt_tool.h"

const char *qdq_trt_tool_refused(qdq_trt_tool *t)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < t->refused.n; i++)
        qdq_buf_printf(&b, "%s%.*s", i > 0 ? " " : "", (int)qdq_trt_key_size(t->refused.at[i]),
                       t->refused.at[i]);
    const char *text =
        b.failed ? NULL : qdq_arena_strndup(&t->arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    return text;
}

qdq_status qdq_trt_tool_refuse(qdq_trt_tool *t, const char *options, qdq_error *err)
{
    const char **list;
    size_t n;

    QDQ_TRY(qdq_trt_split(options, &t->arena, &list, &n, err));
    for (size_t i = 0; i < n; i++)
        if (qdq_trt_tool_has(t, list[i]) && !QDQ_PUSH(&t->arena, &t->refused, list[i]))
            return qdq_nomem(err);
    return QDQ_OK;
}

unsigned qdq_trt_tool_capabilities(const qdq_trt_tool *t)
{
    return QDQ_CAN_TIME | QDQ_NAMES_LAYERS |
           (qdq_trt_tool_has(t, "--exportProfile") ? QDQ_CAN_PROFILE : 0) |
           (qdq_trt_tool_has(t, "--exportLayerInfo") ? QDQ_CAN_LIST_LAYERS : 0);
}
