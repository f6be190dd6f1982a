package interop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// crowdSize is the number of tenants that fill the memory together.
const crowdSize = 6

// TestCrowdFillsMemory lets six tenants fill the memory of a host of 256 MiB in every way, one way
// after the other. In the first run all of them use the same way at a time, in the second each uses
// another. They take memory again as soon as the host frees some. A seventh tenant is served, and
// the host never refuses all tenants.
func TestCrowdFillsMemory(t *testing.T) {
	t.Run("in the same way", func(t *testing.T) { crowdFills(t, 0) })
	t.Run("each in another", func(t *testing.T) { crowdFills(t, 1) })
}

// crowdFills lets each tenant start the given number of ways after the tenant before it.
func crowdFills(t *testing.T, apart int) {
	servers := fmt.Sprintf("servers: {keeper: %s, past: {url: %q}}",
		selfConfig(t, serveKeeper, "keeper"),
		serveWithSessions(t, newFixture("past").legacyOnly()))
	config := fmt.Sprintf(
		"limits: {memory: 256MiB, input_timeout: 4s}\ntenants:\n  initech: {auth: {keys: [%s]}, %s}\n",
		keyConfig("bill", "key-of-bill"), servers,
	)
	for n := range crowdSize {
		config += fmt.Sprintf("  greedy-%d: {auth: {keys: [%s]}, %s}\n", n,
			keyConfig("ann", fmt.Sprint("key-of-", n)), servers)
	}
	k := &memoryHost{t, mcptest.Start(t, mcptest.HostOptions{Config: config}), newWire(t, "", "")}
	k.bystander()
	const turn = 2 * time.Second
	ways := []func(g *greedy, ctx context.Context){
		(*greedy).holds, (*greedy).ignores, (*greedy).floods, (*greedy).jobs, (*greedy).reads,
		(*greedy).early, (*greedy).results, (*greedy).logs,
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(len(ways))*turn)
	defer stop()
	var tenants sync.WaitGroup
	said := make([]map[string]int, crowdSize)
	for n := range crowdSize {
		g := &greedy{
			k: k, tenant: fmt.Sprint("greedy-", n), key: fmt.Sprint("key-of-", n), counts: map[string]int{},
		}
		said[n] = g.counts
		tenants.Go(func() {
			for i := n * apart; ctx.Err() == nil; i++ {
				now, over := context.WithTimeout(ctx, turn)
				var each sync.WaitGroup
				for range 3 {
					each.Go(func() {
						for now.Err() == nil {
							ways[i%len(ways)](g, now)
						}
					})
				}
				each.Wait()
				over()
			}
		})
	}
	tenants.Wait()
	for n, what := range said {
		var lines []string
		for _, s := range slices.Sorted(maps.Keys(what)) {
			lines = append(lines, fmt.Sprintf("%d %s", what[s], s))
		}
		t.Logf("greedy-%d: %s", n, strings.Join(lines, "; "))
	}
	for line := range strings.Lines(k.host.Log()) {
		if strings.Contains(line, `"memory_level"`) {
			t.Log(strings.TrimSpace(line))
		}
		if strings.Contains(line, `"memory":"exhausted"`) {
			t.Error("everybody was refused")
		}
	}
	t.Logf("%d MiB resident", k.resident())
}
