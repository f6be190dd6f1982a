// Package bench measures what the host promises: how soon it is back after a crash, what an idle session costs, how soon it is ready, and
// what a call through it costs beside the same call made directly. Its tests are the measurements.
//
// It does not know what makes a figure good or bad beyond the goals it names, and it keeps no figures of earlier runs: machines differ,
// so what is compared was measured side by side.
//
// As part of go test ./... it runs a short form, which fails only on ratios within the one run. make bench runs the full form, prints
// tables, writes them to bench/results, and also holds the goals that are absolute.
package bench
