// Package actor measures what supervised actors promise: how soon one that crashes answers again, what its siblings notice of it, what a call
// costs and what an idle one weighs, each beside OTP where there is an Erlang. It knows nothing of MCP, but for the host whose tenants must not
// notice one another.
//
// Both sides are processes of their own which answer the questions of question.go, round by round.
package actor
