/* plugin.h - engines in shared libraries of others: qdq/engine_plugin.h. */
#ifndef QDQ_PLUGIN_H
#define QDQ_PLUGIN_H

#include "engine/engine_ops.h"
#include "qdq/engine_plugin.h"

/* Its open() gets the whole spec: "./my.so", "./my.so.1:ARG". */
extern const qdq_engine_ops qdq_engine_plugin_ops;

/* Does the spec name a file, not an engine of the list? */
bool qdq_plugin_is_spec(const char *spec);

#endif /* QDQ_PLUGIN_H */
