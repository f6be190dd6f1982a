// Package early keeps what a server says before there is a session or a call to say it to. A direct
// client of a server has a pause between the start and the first call, in which it answers what the
// server asks. Here the first call is there when the server starts, and its session may come a
// moment later. Therefore:
//
//   - questions wait for the first session: the published server of files asks for the roots of its
//     client, and serves its configured folder until it has them;
//   - log lines wait until the revision of the server is known, and for that session;
//   - calls wait for the answers to what was asked before them;
//   - a server that has no roots, or those of another session, is told that roots have changed.
//
// The package knows no clock, no connection and no session: it is told the time and what happened,
// and returns what to do. Nothing of it survives the server: the zero Early is of a server that has
// said nothing.
package early
