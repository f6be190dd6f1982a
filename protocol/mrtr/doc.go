// Package mrtr reads and writes the two halves of a multi round-trip request: the input_required result by which a modern server asks,
// and the retry by which the client answers (2026-07-28 §basic/patterns/mrtr).
//
// It does not know who asks whom, how often, or what a requestState holds; a state is the JSON string that arrived, passed on byte for
// byte. What a client declared is known to the protocol.Gate that is passed in.
package mrtr

const (
	// MaxInputs bounds the questions of one result. A user is asked each of them.
	MaxInputs = 32
	// MaxKey bounds a key in bytes, quotes included; UUIDs and paths fit.
	MaxKey = 256
	// MaxState bounds a requestState of a server in bytes, quotes included. It comes back with each retry, within MaxRequestBody.
	MaxState = 256 << 10
	// MaxResponses bounds the entries of inputResponses: as many as can have been asked for, and as many again that will be ignored.
	MaxResponses = 2 * MaxInputs
)

// The members that make a result one that asks, and a request one that answers.
const (
	memberRequests  = "inputRequests"
	memberResponses = "inputResponses"
	memberState     = "requestState"
	memberType      = "resultType"
)

// The methods whose results may ask.
var asking = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// MayAsk reports whether a result of that method may be input_required.
func MayAsk(method string) bool { return asking[method] }
