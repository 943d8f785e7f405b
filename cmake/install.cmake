# What is installed: the binary, manual pages and completions (which it writes itself), examples. `cpack` makes a Debian package of it.
include(GNUInstallDirs)

set(FUSEC_SHARE ${CMAKE_BINARY_DIR}/share)
add_custom_command(
  OUTPUT ${FUSEC_SHARE}/fusec.bash ${FUSEC_SHARE}/_fusec ${FUSEC_SHARE}/fusec.fish ${FUSEC_SHARE}/man/fusec.1
  COMMAND fusec completions bash > ${FUSEC_SHARE}/fusec.bash
  COMMAND fusec completions zsh > ${FUSEC_SHARE}/_fusec
  COMMAND fusec completions fish > ${FUSEC_SHARE}/fusec.fish
  COMMAND fusec man -o ${FUSEC_SHARE}/man
  DEPENDS fusec
  VERBATIM)
file(MAKE_DIRECTORY ${FUSEC_SHARE})
add_custom_target(fusec_share ALL DEPENDS ${FUSEC_SHARE}/fusec.bash)

install(TARGETS fusec)
install(DIRECTORY ${FUSEC_SHARE}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${FUSEC_SHARE}/fusec.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME fusec)
install(FILES ${FUSEC_SHARE}/_fusec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${FUSEC_SHARE}/fusec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples FILES_MATCHING PATTERN "*.json")
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fusec)
set(CPACK_PACKAGE_CONTACT "fusec maintainers <fusec@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fusion compiler for graphs of tensor operations")
set(CPACK_PACKAGE_DESCRIPTION
    "Reads a graph of tensor operations from JSON, decides which operations share a GPU kernel, and writes readable CUDA with a report, or runs the graph. NVRTC and the NVIDIA driver are looked for at run time; without them it compiles to CUDA text and runs on the CPU.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "graphviz")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
find_program(FUSEC_SHLIBDEPS dpkg-shlibdeps)
if(FUSEC_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6")
endif()
include(CPack)
