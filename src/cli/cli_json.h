/* cli_json.h - results as JSON: printed or written to a file. */
#ifndef QDQ_CLI_JSON_H
#define QDQ_CLI_JSON_H

#include "base/json_write.h"

/* Both release the document. `path` NULL: stdout. */
qdq_status cli_json_write(qdq_json_doc *d, const char *path, bool force, qdq_error *err);
qdq_status cli_json_print(qdq_json_doc *d, qdq_error *err);

#endif /* QDQ_CLI_JSON_H */
