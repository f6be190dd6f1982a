// Package mrtr reads and writes the two halves of a multi round-trip request (MRTR). A modern
// server asks its client for input in an input_required result. The client answers with a retry of
// its request (2026-07-28 §basic/patterns/mrtr).
//
// The package does not know the peers, the number of rounds, or the content of a requestState. A
// state is the JSON string that arrived, and is passed on byte for byte. A protocol.Gate tells the
// package what the client declared.
package mrtr

// The bounds of multi round-trip requests.
const (
	// MaxInputs bounds the questions in one result. The user has to answer each of them.
	MaxInputs = 32
	// MaxKey bounds a key of inputRequests, in bytes with its quotes. UUIDs and paths fit.
	MaxKey = 256
	// MaxState bounds a requestState of a server, in bytes with its quotes: 256 KiB. The state comes
	// back with each retry, which must fit into MaxRequestBody.
	MaxState = 256 << 10
	// MaxResponses bounds the entries of inputResponses. It allows one for each question, and as many
	// again that are ignored.
	MaxResponses = 2 * MaxInputs
)

// The members that make a result input_required, and a request a retry.
const (
	memberRequests  = "inputRequests"
	memberResponses = "inputResponses"
	memberState     = "requestState"
	memberType      = "resultType"
)

// mayAskMethods holds the methods whose results may be input_required (2026-07-28
// §basic/patterns/mrtr).
var mayAskMethods = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// MayAsk reports whether a result of that method may be input_required.
func MayAsk(method string) bool { return mayAskMethods[method] }
