# Turns text files into C string literals: { "name", "text" }, for each. C11 promises 4095 characters per
# literal and compilers take far more, so lines become adjacent literals and stay readable in the debugger.
set(result "")
foreach(file IN LISTS IN)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND result "{\"${name}\",\n    \"${text}\"},\n")
endforeach()
file(WRITE ${OUT} "${result}")
