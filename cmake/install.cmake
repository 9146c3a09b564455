# Install, export and pkg-config.
include(CMakePackageConfigHelpers)

set(jfa_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jfa)
install(TARGETS jfa EXPORT jfa-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/jfa ${PROJECT_BINARY_DIR}/include/jfa
        TYPE INCLUDE)
install(EXPORT jfa-targets NAMESPACE jfa:: DESTINATION ${jfa_package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/jfa-config.cmake.in ${PROJECT_BINARY_DIR}/jfa-config.cmake
  INSTALL_DESTINATION ${jfa_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jfa-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jfa-config.cmake ${PROJECT_BINARY_DIR}/jfa-config-version.cmake
        DESTINATION ${jfa_package_dir})

# Relative to the file itself, so that `cmake --install --prefix` elsewhere works.
file(RELATIVE_PATH jfa_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/jfa.pc.in ${PROJECT_BINARY_DIR}/jfa.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/jfa.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(JFA_TOOL)
  install(TARGETS jfa_tool)
endif()
