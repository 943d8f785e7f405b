// The files page.html, page.css and *.js of this folder, embedded by the build.
#pragma once

namespace fusec {

extern const char* const kPageFrame;  // with @@TITLE@@, @@STYLE@@, @@DATA@@ and @@SCRIPT@@ where these go
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace fusec
