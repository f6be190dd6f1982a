// Package era finds out which revision a server speaks. A Handshake decides what a starting server
// is asked next, and in which revision: server/discover, which only a server of a revision without
// handshake knows, or initialize. An Identity decides later whether an answer may be that of
// another server behind the same URL.
//
//	begin --> server/discover --> its revisions -----------------> agreed
//	  |          |      ^
//	  |          |      +-- refused in a revision, and names another
//	  |          v anything that only a legacy server answers, or nothing
//	  +----> initialize --> a revision --------------------------> agreed
//	             |      ^
//	             |      +-- refused in a revision, and names another
//	             v a refusal, as of a server without handshake
//	         server/discover, if that was not asked or not answered
//
// The package knows no clock, no connection and no process: it is told the time and what the server
// answered, and returns the one thing to do next. Only Past survives a restart. Its holder replaces
// it as a whole, and each of its values is sound: a revision that may no longer be spoken is
// ignored.
package era
