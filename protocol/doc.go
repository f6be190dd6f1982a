// Package protocol implements the rules of the Model Context Protocol (MCP) as data and pure
// functions. It covers the five published revisions: their features, the methods that each side may
// send, capabilities, the negotiation of a revision, and the form in which an error reaches a peer
// of either era.
//
// The package holds no goroutine, clock, socket, actor or log. It does not know how bytes travel,
// the time of day or the identity of the peer. Subpackages hold the parts that have a state or a
// format of their own:
//
//	jsonrpc       JSON-RPC messages
//	splice        edits on raw JSON
//	rewrite       translation of messages between revisions
//	session       the lifecycle of one legacy connection
//	inflight      requests that await an answer
//	subscription  which client receives which notification
//	headers       HTTP header fields that mirror a modern request
//	mrtr          input_required results, and the requests that answer them
//	seal          requestState that only mcpd can read
//	held          held calls: a legacy server asks its modern client
//	rounds        a modern server asks its legacy client
//	reconnect     re-establishing the connection to a server
//	tasks         the tasks extension
//	terms         the configured rules about capabilities
//	elicitation   URL elicitations that await completion
//
// # Versions and eras
//
// A [Version] is a published revision. Revisions belong to one of two eras. In the [Legacy] era, up
// to 2025-11-25, a connection begins with initialize and has a state. In the [Modern] era, from
// 2026-07-28 on, every request is stateless and names its revision in _meta. [Negotiation.Classify]
// determines the era of each message.
//
// One grid, in features.go, lists the features of each revision. All code asks [Version.Has] and
// never compares versions. One table, in methods.go, lists which side may send which method in
// which revision; [Gate] reads that table. A test compares both with the published schemas.
//
// # Capabilities
//
// [ClientCapabilities] and [ServerCapabilities] hold the declaration of a peer byte for byte.
// Members that mcpd does not know pass through. A request to a server needs the capability that the
// server advertised. A request to a client needs the capability that the client declared. A tenant
// may also require that its clients declare resources, tools or prompts ([Gate.Required]); no
// revision of MCP asks for that.
//
// # Failures
//
// Expected failures are an [*Error]: a [Condition] with its details. [Translate] turns any error
// into the JSON-RPC error that a peer of a given revision may see. [HTTPStatus] gives the HTTP
// status for the same error. The table of conditions is in errors.go.
//
// # How to add a version
//
// After step 1 the package does not build until steps 2 and 3 give each row a cell for the new
// revision.
//
//  1. version.go: add a constant after the last one and its name. Set Latest or LatestLegacy.
//  2. features.go: add a column. A new feature is a new row; ask for it with Has where it matters.
//  3. methods.go: add a column, and rows for new methods. The test against the schemas reports
//     missing rows.
//  4. shape.go: add capabilities that were introduced or removed.
//  5. errors.go: change codes that differ.
//  6. rewrite/objects.go: add rows for members that were introduced, removed or renamed. The test
//     against the schemas reports missing rows.
package protocol
