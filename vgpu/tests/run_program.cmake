# Runs PROGRAM under VGPU, which is given OPTIONS; what it prints must be the text in EXPECTED, and its exit code CODE.
execute_process(COMMAND ${VGPU} run --check all ${OPTIONS} -- ${PROGRAM} OUTPUT_VARIABLE printed ERROR_VARIABLE said
                RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code STREQUAL CODE OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "exit code ${code}, not ${CODE}, or other output than ${EXPECTED}\n${printed}\n${said}")
endif()
