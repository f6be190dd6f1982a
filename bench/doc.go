// Package bench measures what the host promises: how soon it is back after a crash, what a call through it costs beside the same call made
// directly, what an idle session weighs, how soon it is ready. What is measured is a table of scenarios, whose packages stand below this one.
//
// It does not know what makes a figure good or bad beyond the limits that scenarios name, and it keeps no figures of earlier runs: machines
// differ, so what is compared was measured side by side.
//
// mcpd bench runs it. As part of go test ./... it runs in its short form, which fails only on
// ratios within the one run, and on counts of objects and bytes, which no machine changes.
package bench
