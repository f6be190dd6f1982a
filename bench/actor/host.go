package actor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/load"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// hurtHost is the role of a host in which one tenant is made to crash.
const hurtHost = "hurt-host"

// hurtConfig has two tenants with a built-in server each. The victim also has a program and a
// server at an address.
func hurtConfig(b budgets, program, site string) string {
	own := `share: tenant`
	if b == lifted {
		own += `, intensity: {restarts: 1000, within: 1ms}`
	}
	return `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {bystander: {servers: {demo: {builtin: demo}}}, victim: {servers: {
  demo: {builtin: demo, ` + own + `}, program: {` + program + `, ` + own +
		`}, site: {url: "http://` + site + `/mcp", ` + own + `}}}}}`
}

// crashingHost is the process in the role hurtHost. It answers these lines:
//
//	begin                       its URL
//	crash MICROSECONDS VICTIM   0; crashes one of the victims at that interval, or never if it is 0
//	work MICROSECONDS CALLS     0; makes that many calls as the victim at that interval
//	calm                        stops, and answers with done, or with an error
type crashingHost struct {
	budgets budgets
	spent   map[string]*allowance // the used budgets, by the row or server that crashes
	host    *supervisor.Running
	address string // of the site
	site    *kit.Process
	client  *load.Session // of the victim
	// rows are the paths of the actors that crashed last, one for each of the global rows.
	rows   [len(rows)]string
	enough chan struct{}
	did    chan ended
}

// ended is the result of a series of steps.
type ended struct {
	done
	err error
}

// done is how often something was done, and the CPU time of the process meanwhile, including
// unrelated work.
type done struct {
	Times int     `json:"times"`
	CPU   float64 `json:"cpu"`  // seconds, user and system
	Took  float64 `json:"took"` // seconds
}

// share returns the CPU time as a share of one core.
func (d done) share() float64 { return d.CPU / d.Took }

// newHurt makes a host with these budgets.
func newHurt(b string) kit.Answer {
	return (&crashingHost{budgets: budgets(b), spent: map[string]*allowance{}}).answer
}

func (h *crashingHost) answer(line string) (any, error) {
	w := &words{left: strings.Fields(line)}
	switch word := w.next(); word {
	case "begin":
		return h.begin(context.Background())
	case "crash":
		every, one := w.number(), h.victims()[w.next()]
		if w.err != nil || one == nil || h.host == nil {
			return nil, fmt.Errorf("%q: want a number and a victim, after begin", line)
		}
		return h.start(every, one)
	case "work":
		every, calls := w.number(), w.number()
		if w.err != nil || h.host == nil {
			return nil, fmt.Errorf("%q: want two numbers, after begin", line)
		}
		return h.start(every, h.calls(calls))
	case "calm":
		if h.enough == nil {
			return nil, fmt.Errorf("nothing crashes")
		}
		close(h.enough)
		h.enough = nil
		e := <-h.did
		if e.err == nil && h.budgets == released {
			e.err = h.kept()
		}
		return e.done, e.err
	default:
		return nil, fmt.Errorf("there is no question %q", word)
	}
}

func (h *crashingHost) begin(ctx context.Context) (base string, err error) {
	program, err := subject.Command(subject.EchoStdio, "legacy")
	if err != nil {
		return "", err
	}
	if h.address, err = kit.Free(); err != nil {
		return "", err
	}
	if h.site, err = kit.Start(ctx, subject.Bare, h.address); err != nil { // it ends with this process
		return "", err
	}
	faults := fault.New(clock.System)
	o := supervisor.Options{Faults: faults}
	if h.budgets == lifted {
		o.Intensity = unlimited
	}
	if h.host, err = subject.Open(ctx, hurtConfig(h.budgets, program, h.address), o); err != nil {
		return "", err
	}
	// owner: the process, which ends with it; callers notice its end
	go func() { _ = h.host.Run(ctx) }()
	if _, err := faults.Arm(crashing("mcpd/tenants/victim/*")); err != nil {
		return "", err
	}
	address, _ := h.host.Addrs()
	base = "http://" + address
	h.client, err = load.Connect(ctx, load.SessionOptions{
		URL: base + "/t/victim/mcp", Tool: tool, Argument: argument,
	})
	if err == nil {
		_, err = h.client.Call(ctx, "first")
	}
	return base, err
}

// step does something to the victim, for the i-th time, and reports whether it did. An error is
// unexpected.
type step func(ctx context.Context, i int) (did bool, err error)

func (h *crashingHost) start(microseconds int, one step) (any, error) {
	h.enough, h.did = make(chan struct{}), make(chan ended)
	// owner: calm, which waits for it
	go h.again(h.enough, time.Duration(microseconds)*time.Microsecond, one)
	return 0, nil
}

// again repeats a step and counts how often it was done.
func (h *crashingHost) again(enough <-chan struct{}, every time.Duration, one step) {
	var d ended
	used, began := processor(), time.Now()
	for i := 0; !after(enough, every); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		did, err := one(ctx, i)
		if did {
			d.Times++
		}
		if d.err == nil {
			d.err = err
		}
		cancel()
	}
	d.CPU, d.Took = (processor() - used).Seconds(), time.Since(began).Seconds()
	h.did <- d
}

// calls makes n calls of the victim, one after the other.
func (h *crashingHost) calls(n int) step {
	return func(ctx context.Context, i int) (bool, error) {
		for range n {
			if _, err := h.client.Call(ctx, load.Nonce(fmt.Sprint(i))); err != nil {
				return false, fmt.Errorf("a call of the victim: %w", err)
			}
		}
		return true, nil
	}
}

// victims are the steps that crash something, by name. A crash may fail, because the one before may
// have removed what it needs.
func (h *crashingHost) victims() map[string]step {
	return map[string]step{
		actorVictim: crashes(h.crashRow), programVictim: crashes(h.killProgram),
		siteVictim: crashes(h.killSite),
	}
}

func crashes(one func(ctx context.Context, i int) bool) step {
	return func(ctx context.Context, i int) (bool, error) { return one(ctx, i), nil }
}

// crashRow crashes the rows in turn. After each crash it makes a call that needs all of them.
func (h *crashingHost) crashRow(ctx context.Context, i int) bool {
	one := &h.rows[i%len(rows)]
	// ends of sessions count in no budget
	if rows[i%len(rows)] != sessionRows && !h.may(rows[i%len(rows)]) {
		return false
	}
	ref, ok := h.host.Whereis(*one)
	// Look the row up only if it has moved: the search walks the whole tree, and must not count as
	// part of a crash.
	if !ok {
		*one = h.row(i)
		ref, ok = h.host.Whereis(*one)
	}
	did := ok && ref.Send(crash{}) == nil
	_, _ = h.client.Call(ctx, load.Nonce(fmt.Sprint(i))) // the crash may hit this call
	return did
}

// killProgram kills the program. It asks the program for its pid, which starts the program if
// necessary.
func (h *crashingHost) killProgram(ctx context.Context, _ int) bool {
	if !h.may(programVictim) {
		return false
	}
	text, err := h.client.Ask(ctx, "tools/call", `{"name":"program__self","arguments":{}}`)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(text)
	return err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// killSite kills the server over HTTP while the host is connected to it, and starts it again.
func (h *crashingHost) killSite(ctx context.Context, _ int) bool {
	if !h.may(siteVictim) {
		return false
	}
	if _, err := h.client.Ask(ctx, "tools/call", `{"name":"site__self","arguments":{}}`); err != nil {
		return false
	}
	h.site.Kill()
	next, err := kit.Start(context.WithoutCancel(ctx), subject.Bare, h.address)
	if err == nil {
		h.site = next
	}
	return err == nil
}

// rows are the paths of the tenant's rows that crash: the actors at or below them.
var rows = [...]string{"request_manager", "client_sup/demo", sessionRows}

// sessionRows is the parent of a tenant's sessions.
const sessionRows = "server_sup"

func (h *crashingHost) row(i int) (path string) {
	top := "mcpd/tenants/victim/" + rows[i%len(rows)]
	h.host.Snapshot().Walk(func(n otp.Node) bool {
		if n.Type == otp.WorkerType && strings.HasPrefix(n.Path+"/", top+"/") {
			path = n.Path
		}
		return path == ""
	})
	return path
}
