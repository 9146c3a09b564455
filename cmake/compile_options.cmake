# What every target of the project is compiled with: link to jfa_options, privately.
add_library(jfa_options INTERFACE)
target_compile_options(
  jfa_options
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            $<$<BOOL:${JFA_WARNINGS_AS_ERRORS}>:-Werror>)
if(JFA_SANITIZE)
  target_compile_options(jfa_options INTERFACE -fsanitize=${JFA_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all)
  target_link_options(jfa_options INTERFACE -fsanitize=${JFA_SANITIZE})
endif()
