package admin

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

type counter struct{ n atomic.Uint32 }

func (c *counter) add()        { c.n.Add(1) }
func (c *counter) get() uint32 { return c.n.Load() }

// The tree as JSON, for users of jq.
func TestTreeAsJSON(t *testing.T) {
	root := otp.Node{
		ID: "mcpd", Path: "mcpd", Type: otp.SupervisorType, Strategy: otp.OneForOne, Status: otp.Running,
		Since: time.Unix(1000, 0),
		Children: []otp.Node{{
			ID: "files", Path: "mcpd/files", Restart: otp.Transient, Status: otp.Running, Restarts: 2,
			Since: time.Unix(2000, 0), Incarnation: 3, Mailbox: 4, Isolated: 1,
			Extra: telemetry.UpstreamStatus{
				Tenant: "acme", Server: "files", Link: "stdio", State: telemetry.StateBackoff,
				Ending: telemetry.Ending{Cause: "exit code 1\n"}, PID: 4711, Revision: "2025-11-25",
				Stale: true,
			},
		}},
	}
	const want = `{"id":"mcpd","path":"mcpd","type":"supervisor","strategy":"one_for_one","restart":"permanent","status":"running","restarts":0,` +
		`"since":"1970-01-01T00:16:40Z","mailbox":0,"incarnation":0,"children":[` +
		`{"id":"files","path":"mcpd/files","type":"worker","restart":"transient","status":"running","restarts":2,"since":"1970-01-01T00:33:20Z",` +
		`"mailbox":4,"incarnation":3,"children":[],"hung":1,"state":"backoff","cause":"exit code 1\\n","pid":4711,"server":"files","revision":"2025-11-25","stale":true,"link":"stdio"}]}`
	if got := string(encode(Tree(root, false))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A row that is stuck at a message is marked as long as it is stuck.
func TestTreeShowsWhatIsStuck(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		n := Tree(otp.Node{ID: "storage", Type: otp.WorkerType, Status: otp.Running, Stuck: stuck}, false)
		if n.GetStuck() != stuck || strings.Contains(string(encode(n)), `"stuck"`) != stuck {
			t.Errorf("stuck %t is shown as %s", stuck, encode(n))
		}
	}
}

// A running tenant has a description only if it keeps more than its share.
func TestTreeSaysWhatATenantKeeps(t *testing.T) {
	row := otp.Node{
		ID: "acme", Type: otp.SupervisorType,
		Extra: telemetry.TenantStatus{Tenant: "acme", State: "running"},
	}
	if n := Tree(row, false); n.State != nil || n.Keeps != nil {
		t.Errorf("nothing is to be said, and it says %v", n)
	}
	row.Extra = telemetry.TenantStatus{Tenant: "acme", State: "running", Usage: "30.0 MiB"}
	if n := Tree(row, false); n.GetState() != "running" || n.GetKeeps() != "30.0 MiB" {
		t.Errorf("it says %v", n)
	}
}

// A pool shows its count, the restarts of all children, and the children that changed last, even
// when the change was far below the child.
func TestPoolsShowWhatChangedLast(t *testing.T) {
	const size = 1000
	pool := otp.Node{
		ID: "tenants", Type: otp.SupervisorType, Strategy: otp.SimpleOneForOne, Restarts: 1,
	}
	for i := range size {
		pool.Children = append(pool.Children, otp.Node{
			ID: fmt.Sprint(i), Type: otp.SupervisorType, Since: time.Unix(int64(i), 0),
			Children: []otp.Node{{ID: "request_manager", Restarts: 1, Since: time.Unix(int64(i), 0)}},
		})
	}
	pool.Children[7].Children[0].Since = time.Unix(2*size, 0)

	got := Tree(pool, false)
	if got.GetChildCount() != size || got.GetHidden() != size-PoolShown ||
		got.GetChildRestarts() != size || got.GetRestarts() != 1 || len(got.GetChildren()) != PoolShown {
		t.Errorf("count %d, hidden %d, restarts below %d, own %d, shown %d", got.GetChildCount(),
			got.GetHidden(), got.GetChildRestarts(), got.GetRestarts(), len(got.GetChildren()))
	}
	var ids []string
	for _, c := range got.GetChildren()[:4] {
		ids = append(ids, c.GetId())
	}
	if order := strings.Join(ids, " "); order != "7 999 998 997" {
		t.Errorf("shown first: %s, want 7 999 998 997", order)
	}
	if all := Tree(pool, true); len(all.GetChildren()) != size || all.GetHidden() != 0 ||
		all.GetChildren()[0].GetId() != "0" {
		t.Errorf("with all: %d shown, %d hidden, first %s", len(all.GetChildren()), all.GetHidden(),
			all.GetChildren()[0].GetId())
	}
}

func TestPoolOfEqualsKeepsItsOrder(t *testing.T) {
	pool := otp.Node{Type: otp.SupervisorType, Strategy: otp.SimpleOneForOne}
	for i := range 2 * PoolShown {
		pool.Children = append(pool.Children, otp.Node{ID: fmt.Sprint(i), Since: time.Unix(1, 0)})
	}
	for i, c := range Tree(pool, false).GetChildren() {
		if c.GetId() != fmt.Sprint(i) {
			t.Errorf("place %d has %s", i, c.GetId())
		}
	}
}

func BenchmarkLargeTree(b *testing.B) {
	pool := otp.Node{Type: otp.SupervisorType, Strategy: otp.SimpleOneForOne}
	for i := range 100_000 {
		pool.Children = append(pool.Children, otp.Node{
			ID: fmt.Sprint(i), Since: time.Unix(int64(i%977), 0),
		})
	}
	for b.Loop() {
		encode(Tree(pool, false))
	}
}
