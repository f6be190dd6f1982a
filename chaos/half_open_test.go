package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpd/chaos/faults"
)

// F42: clients with a stream become unreachable, as when their network is gone. The host closes
// their streams within 45 s. It does not rely on TCP, which would retransmit the unacknowledged
// keep-alives for a quarter of an hour.
func TestHalfOpenClientsAreLetGo(t *testing.T) {
	t.Parallel()
	a := openTrial(t, "")
	kind, _ := faults.Find(faults.Kinds, "client.half_open")
	with := kind.Defaults()
	with["clients"] = 3
	in, err := kind.Inject(t.Context(), &faults.Site{
		Tenant: acme,
		Client: faults.Client{URL: a.MCP + "/t/" + acme + "/mcp", Key: key(acme), Tool: "demo__echo",
			Argument: "text"}, Duration: time.Hour, Params: with,
		Rand: rand.New(rand.NewPCG(1, 1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Heal(t.Context())
	// The clients return after 45 s and check. A host that still has the connection is wrong. The
	// margin is for a busy machine.
	for end := time.Now().Add(with.Duration("freed") +
		patience); ; time.Sleep(100 * time.Millisecond) {
		hits, err := in.Hits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if hits >= 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of 3 clients have come back", hits)
		}
	}
}
