// Package protocol is MCP as data and pure functions: its five revisions, what each has, who may send what, what can be declared, how a
// revision is agreed on, and how a failure is told to a peer of either era.
//
// It does not know how bytes travel, what time it is, or who is talking: there is no goroutine, clock, socket, actor or log in it. Its
// subpackages hold what has a state or a form of its own:
//
//	jsonrpc       the envelope
//	splice        edits on raw JSON
//	rewrite       messages of one revision said in another
//	session       the lifecycle of one legacy connection
//	inflight      requests that await an answer
//	subscription  who wants which notification
//	headers       what HTTP header fields mirror of a modern request
//	mrtr          results that ask, and the requests that answer them
//	seal          the requestState that only mcpd can read
//	held          a call whose legacy server asks its modern client
//	rounds        a call whose modern server asks its legacy client
//
// # Versions and eras
//
// A [Version] is a published revision. There are two shapes of MCP, its eras: in the [Legacy] era, up to 2025-11-25, a connection begins
// with initialize and has a state; in the [Modern] era, from 2026-07-28 on, every request stands alone and says in its _meta which
// revision it speaks. [Negotiation.Classify] tells them apart, message by message.
//
// What a revision has is one grid, in features.go; code anywhere asks [Version.Has] and never compares versions. Who may send which
// method in which revision is one table, in methods.go, read through [Gate]. Both are compared with the published schemas by a test.
//
// # Capabilities
//
// [ClientCapabilities] and [ServerCapabilities] are what a peer declared, byte for byte: members that mcpd does not know pass through.
// What the server serves is gated on what the server advertised, what it asks of the client on what the client declared. That a client
// must declare resources, tools or prompts is a policy that a tenant may opt into ([Gate.Required]); no revision says so.
//
// # Failures
//
// Expected failures are an [*Error]: a [Condition] with its particulars. [Translate] turns any error into what a peer of a given revision
// may see, [HTTPStatus] says the status to go with it. The table of conditions is in errors.go.
//
// # How to add a version
//
// Steps 1 to 3 do not build while a cell of the new revision is missing.
//
//  1. version.go: a constant after the last one, its name, and Latest or LatestLegacy.
//  2. features.go: a column. A new thing is a new row; ask for it with Has where it matters.
//  3. methods.go: a column, and rows for new methods. The test against the schemas says what is missing.
//  4. shape.go: capabilities that came or went.
//  5. errors.go: codes that changed.
//  6. rewrite: rows for members that came, went or have another name, in rewrite/objects.go. The test against the schemas says what is missing.
package protocol
