// Package rewrite translates a message between two revisions of MCP: results, notifications and
// questions of a server, and requests and answers of its client. The output is valid under the
// schema of the receiver's revision.
//
// The package translates only the content of messages. A modern server puts questions into a
// result, and a legacy server sends them as requests; the params are the same here, and the caller
// converts one form into the other. Ids, progress tokens, cursors and names belong to one
// connection each, and are also up to the caller.
//
// One table, in objects.go, lists the revisions in which each member exists. A test compares it
// with the published schemas. Data that the table does not cover keep their bytes: unknown members,
// numbers of any length, order and spacing. Between equal revisions the message is not read at all.
// The output is guaranteed to be valid only if the input is valid.
package rewrite
