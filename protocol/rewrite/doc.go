// Package rewrite says a message of one revision of MCP in another: what a server answered, told or asked, and what its client asked or
// answered, so that each side gets what the schema of its own revision allows.
//
// It does not know who is asked when: questions that a modern server puts into a result, and a legacy one sends as requests, have the same
// params here, but turning the one into the other is the caller's. Nor does it know ids, progress tokens, cursors and names, which belong
// to one connection each.
//
// Which member stands in which revision is one table, in objects.go; a test compares it with the published schemas. What is not in the
// table keeps its bytes: members that nobody knows, numbers of any length, order and spacing. Between equal revisions nothing is read at
// all. Validity is promised for what was valid when it came.
package rewrite
