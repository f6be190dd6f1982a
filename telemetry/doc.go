// Package telemetry is how the host is seen: events go in; log lines, metrics,
// and a short memory of what happened come out. It does not know who emits an
// event or what anybody does about it, it asks no actor anything, and nothing
// waits for it: what it cannot keep up with is dropped and counted.
//
// Three tables decide what is seen. events says for every event its name, its
// level and its sentence; metrics says for every instrument what feeds it; the
// fields of an event are the tagged fields of its struct. docs/telemetry.gen.md
// is written from them.
package telemetry

//go:generate go test -run TestDocsAreCurrent -update .
