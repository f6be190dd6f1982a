// Package telemetry makes the host observable. Events go in; log lines, metrics, and a short
// history of recent events come out. The package does not know who emits an event or how anyone
// reacts to it. It asks no actor anything, and nothing waits for it: events that it cannot keep
// up with are dropped and counted.
//
// Three tables define the output. events has the name, the level and the sentence of every event.
// metrics says what feeds every instrument. The fields of an event are the tagged fields of its
// struct. docs/telemetry.gen.md is generated from them.
package telemetry

//go:generate go test -run TestDocsAreCurrent -update .
