package scale

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	merge "mcpd/gateway/catalog"
)

// docsPage is the page that a full run writes.
const docsPage = "../../docs/scale.md"

// figures are the measurements of this run's tests, as rows of the page.
var figures struct{ servers, bursts, pages string }

// noteBursts adds the results of the bursts for one kind of client.
func noteBursts(t *testing.T, who string, streams, servers int, opened usage, all ...*burst) {
	t.Helper()
	t.Logf("%d %s opened: CPU %v, RSS %d MiB", streams, who, opened.cpu, opened.rss)
	for _, b := range all {
		t.Logf("%s: %s", b.name, b)
	}
	if !*full {
		return
	}
	figures.servers = fmt.Sprint(servers)
	figures.bursts += fmt.Sprintf("| %d %s | open | | | | %.1f s | %d MiB |\n", streams, who,
		opened.cpu.Seconds(), opened.rss)
	for _, b := range all {
		figures.bursts += fmt.Sprintf("| | %s | %d of each list | %.1f s | %.1f s | %.1f s | %d MiB |\n",
			b.name, b.received.most[b.changed[0]], b.took.Seconds(), b.late.Seconds(), b.used.cpu.Seconds(),
			b.used.rss)
	}
}

// notePages adds the costs of pages.
func notePages(t *testing.T, servers int, half time.Duration, pages int,
	whole time.Duration, more int) {
	t.Helper()
	t.Logf("CPU of a page: %v of %d pages, %v of %d", half, pages, whole, more)
	if *full {
		figures.pages = fmt.Sprintf("| %d | %d | %.1f ms |\n| %d | %d | %.1f ms |\n",
			servers/2, pages, 1e3*half.Seconds(), servers, more, 1e3*whole.Seconds())
	}
}

// The last test writes the page, from the measurements of the tests before it.
func TestPageIsWritten(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	if figures.bursts == "" || figures.pages == "" {
		t.Fatal("-update needs -full, and all tests")
	}
	load, _ := os.ReadFile("/proc/loadavg") // it only shows how busy the machine was
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Written by make scale. Do not edit. -->

# A thousand servers, thousands of clients

One tenant has %s servers over HTTP with %d tools each, behind one list. `+"`make nightly`"+` runs
this in full, and every run of the tests in a short form, which counts the same and measures nothing.

Measured on %s with %d cores (%s/%s, %s); load average before the end: %s. Other programs ran on the
machine at the same time.

## What clients are told

Clients listen to changes of all lists while no server has answered yet. Then all servers come up at
once, and after that all change their tools at once. Each client hears of each burst once: when
nothing has changed for 200 ms, or after 2 s when it goes on.

| clients | what happens | each is told | the last list after | the last client is told, after the last list | CPU of mcpd | memory of mcpd |
|---|---|---|---|---|---|---|
%s
## What a page costs

One client goes through tools/list, %d tools a page, again and again.

| servers up | pages | CPU of mcpd for a page |
|---|---|---|
%s`, figures.servers, toolsPerServer, time.Now().Format(time.DateOnly), runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version(),
		strings.Join(strings.Fields(string(load))[:1], ""), figures.bursts, merge.PageSize, figures.pages)
	if err := os.WriteFile(docsPage, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
