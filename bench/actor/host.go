package actor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/load"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// hurtHost is the role of a host one tenant of which is made to crash.
const hurtHost = "hurt-host"

// hurtConfig has two tenants alike.
const hurtConfig = `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {
  bystander: {servers: {demo: {builtin: demo}}},
  victim: {servers: {demo: {builtin: demo, share: tenant, intensity: {restarts: 1000, within: 1ms}}}}}}`

// hurt is such a host. It answers
//
//	begin                where it serves
//	crash MICROSECONDS   0; from then on a row of the victim crashes so often, 0 being never
//	calm                 how many have crashed since
type hurt struct {
	host   *supervisor.Running
	client *load.Session // of the victim
	enough chan struct{}
	did    chan int
}

func newHurt(string) kit.Answer { return (&hurt{}).answer }

func (h *hurt) answer(line string) (any, error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "begin":
		return h.begin(context.Background())
	case "crash":
		every, err := strconv.Atoi(rest)
		if err != nil || h.host == nil {
			return nil, fmt.Errorf("crash %q: want a number, after begin", rest)
		}
		h.enough, h.did = make(chan struct{}), make(chan int)
		go h.crash(h.enough, time.Duration(every)*time.Microsecond) // owner: calm, which waits for it
		return 0, nil
	case "calm":
		if h.enough == nil {
			return nil, fmt.Errorf("nothing crashes")
		}
		close(h.enough)
		h.enough = nil
		return <-h.did, nil
	}
	return nil, fmt.Errorf("there is no question %q", word)
}

func (h *hurt) begin(ctx context.Context) (base string, err error) {
	faults := fault.New(clock.System)
	if h.host, err = subject.Open(ctx, hurtConfig, supervisor.Options{Faults: faults, Intensity: unlimited}); err != nil {
		return "", err
	}
	go func() { _ = h.host.Run(ctx) }() // owner: the process, which ends with it; its end is seen by whoever calls
	struck := fault.Point{Path: "mcpd/tenants/victim/*", Kind: fmt.Sprintf("%T", crash{})}
	if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: struck, Lease: fault.MaxLease}); err != nil {
		return "", err
	}
	address, _ := h.host.Addrs()
	base = "http://" + address
	h.client, err = load.Connect(ctx, load.SessionOptions{URL: base + "/t/victim/mcp", Tool: tool, Argument: argument})
	if err == nil {
		_, err = h.client.Call(ctx, "first")
	}
	return base, err
}

// crash makes the victim's rows crash in turn, each followed by a call that needs all of them back.
func (h *hurt) crash(enough <-chan struct{}, every time.Duration) {
	crashes := 0
	for i := 0; !after(enough, every); i++ {
		if ref, ok := h.host.Whereis(h.row(i)); ok && ref.Send(crash{}) == nil {
			crashes++
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, _ = h.client.Call(ctx, load.Nonce(fmt.Sprint(i))) // it may be what the crash hits
		cancel()
	}
	h.did <- crashes
}

// rows are what of the tenant crashes: the actors at or below these paths.
var rows = []string{"request_manager", "client_sup/demo", "server_sup"}

func (h *hurt) row(i int) (path string) {
	top := "mcpd/tenants/victim/" + rows[i%len(rows)]
	h.host.Snapshot().Walk(func(n otp.Node) bool {
		if n.Type == otp.WorkerType && strings.HasPrefix(n.Path+"/", top+"/") {
			path = n.Path
		}
		return path == ""
	})
	return path
}
