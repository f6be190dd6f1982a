// Package era finds out which revision a server speaks. A Handshake decides what the server is
// asked next while it starts: server/discover, which only a server of a revision without
// handshake knows, or initialize, and in which revision. An Identity decides later whether an
// answer may be that of another server behind the same URL.
//
//	begin ──▶ server/discover ──▶ its revisions ─────────────────▶ agreed
//	  │          │      ▲
//	  │          │      └── refused in a revision, and names another
//	  │          ▼ anything that only a legacy server answers, or nothing
//	  └────▶ initialize ──▶ a revision ──────────────────────────▶ agreed
//	             │      ▲
//	             │      └── refused in a revision, and names another
//	             ▼ a refusal, as of a server without handshake
//	         server/discover, if that was not asked or not answered
//
// It knows no clock, no connection and no process: it is told the time and what the server
// answered, and returns the one thing to do next. Nothing of it survives a restart but Past,
// which is replaced as a whole by whoever keeps it, and of which every value is sound: a revision
// that may not be spoken any more is ignored.
package era
