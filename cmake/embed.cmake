# Turns text files (target descriptions, what pages are drawn by) into C string literals: {"name",
# "help", "text"}, for each. Lines become adjacent literals: compilers take far longer ones than the
# 4095 characters that C11 promises, and they stay readable.
set(result "")
foreach(file IN LISTS IN)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(REGEX MATCH "\"help\": *\"([^\"]*)\"" unused "${text}")
  set(help "${CMAKE_MATCH_1}")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND result "{\"${name}\", \"${help}\",\n    \"${text}\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
