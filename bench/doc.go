// Package bench measures the promises of the host: how soon it recovers from a crash, the cost of a
// call through it compared with a direct call, the weight of an idle session, and the time until it
// is ready. The measurements are a table of scenarios, which are implemented by the packages below
// this one.
//
// The package knows only the limits that scenarios define, and keeps no figures of earlier runs.
// Machines differ, so that only measurements made side by side are compared.
//
// The command mcpd bench runs it. In go test ./... it runs in its short form, which fails only
// because of ratios within the run, and because of counts of objects and bytes, which do not depend
// on the machine.
package bench
