qdq help <&- >&- 2>&-
