package telemetry

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite generated documents and golden files")

const docs = "../docs/telemetry.gen.md"

// The document is generated from the tables, so it names every event, every field, and every
// metric.
func TestDocsAreCurrent(t *testing.T) {
	golden(t, docs, document())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not current: run go test ./telemetry -update\ngot:\n%s", name, got)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString("# Telemetry\n\n" +
		"Written from the tables in telemetry/table.go and telemetry/metrics.go by `go generate " +
		"./telemetry`.\n\n" +
		"## Log lines\n\n" +
		"One line for each event, as JSON, or as text on a terminal (`--log-format auto|text|json`; " +
		"colours unless `NO_COLOR` is set).\n" +
		"Every line may have the keys `ts` `level` `msg` `event` `tenant` `server` `session` " +
		"`exchange` `incident` `path`, followed by\n" +
		"those of the event. Events that belong to one problem of one row of the supervision tree " +
		"share an `incident`.\n" +
		"`suppressed` counts earlier lines of the same event that were not written because there were " +
		"too many in a second.\n" +
		"Control characters, terminal escapes and characters that hide or reorder text are shown as " +
		"escapes.\n\n" +
		"Some lines stand for all lines of one cause, and count the others as `suppressed`:\n\n" +
		"| cause | lines |\n|---|---|\n" +
		"| requests that are rejected for one incident of a server | one a minute, the first one a " +
		"minute after the first rejection |\n" +
		"| requests that a draining host refuses | one at the end of the drain, or one in each minute " +
		"of it |\n" +
		"| requests of sessions that have ended, for each tenant | one at once, then one a minute |\n" +
		"| lines of a server that are not messages (`upstream_noise`) | one at once, then one a " +
		"minute; its `lines` counts them |\n\n" +
		"## Events\n\n" +
		"| event | level | message | meaning | fields |\n|---|---|---|---|---|\n")
	for _, r := range events {
		var fields []string
		for _, f := range fieldsOf(reflect.TypeOf(r.event)) {
			fields = append(fields, fmt.Sprintf("`%s`: %s", f.key, f.is))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.name, levelName(r.level), r.message,
			r.meaning, strings.Join(fields, "; "))
	}
	fmt.Fprintf(&b, "\n## Metrics\n\n"+
		"Prometheus metrics, at `/metrics` of the admin listener, with those of the Go runtime and the "+
		"process. An instrument has at most\n"+
		"%d label combinations. Further ones count under `%s`, and so does every method that the "+
		"protocol does not have.\n"+
		"`outcome` is one of %s.\n\n"+
		"| metric | kind | labels | unit | meaning | fed by | also known as "+
		"|\n|---|---|---|---|---|---|---|\n", MaxSeries, other, code(outcomes[:]))
	for _, m := range metrics {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n",
			m.name, m.kind, code(m.labels), m.unit, m.help, fedBy(m), m.also)
	}
	b.WriteString("\nIn addition, each limit of [limits.gen.md](limits.gen.md) is a gauge " +
		"`mcpd_limit_*` with the label `tenant`. The label is empty for the value that applies to\n" +
		"all tenants; each tenant with another value has a gauge of its own.\n")
	for _, now := range slices.Sorted(maps.Keys(earlierLimits)) {
		fmt.Fprintf(&b, "`%s%s` is an earlier name of `%[1]s%[3]s`.\n", LimitPrefix, earlierLimits[now],
			now)
	}
	return b.String()
}

func code(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, "`"+w+"`")
	}
	return strings.Join(out, " ")
}

func fedBy(m metric) string {
	if m.direct != "" {
		return m.direct
	}
	var names []string
	for _, f := range m.from {
		names = append(names, events[byType[f.event]].name)
	}
	return code(names)
}
