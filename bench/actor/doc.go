// Package actor measures the properties of supervised actors: how soon a crashed actor answers
// again, whether its siblings are affected, the cost of a call, and the weight of an idle actor.
// Each is compared with OTP if Erlang is installed. The package knows nothing of MCP, except for
// the scenarios with a host whose tenants must not affect one another.
//
// Both sides are processes of their own that answer the questions of question.go, round by round.
package actor
