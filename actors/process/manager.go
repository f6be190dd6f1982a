// Package process holds the process manager: the one owner of every child process. It starts them, knows for whom they run, and sees
// to it that nothing of them is left when their time is over. What they say is for whoever asked for them.
package process

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/order"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// CloseTimeout bounds the closing of one transport: the ladder's six seconds for a program, and a DELETE for a remote server.
const CloseTimeout = 8 * time.Second

// maxTries is how many incarnations begin a start before it fails: it may be what they crash on.
const maxTries = 3

var errTries = errors.New("the start was broken off too often")

// child is one running program and its place in the books.
type child struct {
	*stdio.Child
	info   Info
	owner  otp.Ref
	number uint64 // its place in the order of all starts
}

// starting is a program on its way.
type starting struct {
	call   *Start
	number uint64        // its place in the order of all starts
	tries  int           // incarnations that have begun it, this one included
	taken  atomic.Bool   // somebody has taken charge of the child, or ended it
	done   chan struct{} // closed when the fields below are set
	child  *stdio.Child
	err    error
}

// running reports whether the start has come to its end, and well.
func (s *starting) running() bool {
	select {
	case <-s.done:
		return s.child != nil
	default:
		return false
	}
}

// kept is the heir: the children outlive their manager's crash and notice nothing of it, and so do those that are being started.
//
// A manager that hangs can lose its heir to the next incarnation at any moment: it changes the heir
// within change alone, which does not go on then.
type kept struct {
	mu       sync.Mutex // held by changes, and by Fence
	last     *Last
	numbers  uint64 // how many numbers were given out
	children map[*stdio.Child]*child
	starts   map[*starting]bool
	releases map[transport.Upstream]closing
}

// closing is a transport that is being closed.
type closing struct {
	number uint64 // its place in the order of all releases
	tenant string
}

// number is the next number. What is done for all children, starts or releases is done in the order of their numbers, so that the order of a map
// decides nothing.
func (k *kept) number() uint64 {
	k.numbers++
	return k.numbers
}

func (k *kept) running() iter.Seq2[*stdio.Child, *child] {
	return order.By(k.children, func(a, b *stdio.Child) int { return cmp.Compare(k.children[a].number, k.children[b].number) })
}

func (k *kept) begun() iter.Seq2[*starting, bool] {
	return order.By(k.starts, func(a, b *starting) int { return cmp.Compare(a.number, b.number) })
}

func (k *kept) closing() iter.Seq2[transport.Upstream, closing] {
	return order.By(k.releases, func(a, b transport.Upstream) int { return cmp.Compare(k.releases[a].number, k.releases[b].number) })
}

// Fence takes the children from a manager that is stuck; see otp.Fenced.
func (k *kept) Fence() any {
	if !k.mu.TryLock() { // it is in the middle of a change
		return nil
	}
	defer k.mu.Unlock()
	return &kept{
		last: k.last, numbers: k.numbers,
		children: maps.Clone(k.children), starts: maps.Clone(k.starts), releases: maps.Clone(k.releases),
	}
}

// change changes the heir, unless this incarnation has lost it.
func (m *Manager) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Check()
	f()
}

// Abandon answers who waits for a start, ends the programs and closes what was to be closed: nobody will know of them any more. Those for
// whom they ran have them started anew.
func (k *kept) Abandon(reason error) {
	for s := range k.begun() {
		s.call.Fail(reason)
		if s.running() {
			k.last.end(s.child.Stop)
		}
	}
	for c := range k.running() {
		k.last.end(c.Stop)
	}
	for up := range k.closing() {
		k.last.end(up.Close)
	}
}

// Manager is the behaviour of core/process_manager.
type Manager struct {
	spawner *stdio.Spawner
	last    *Last
	p       *otp.Process
	*kept
}

// New makes one incarnation. The spawner outlives it, and so does what ends the rest after the last one.
func New(spawner *stdio.Spawner, last *Last) *Manager { return &Manager{spawner: spawner, last: last} }

// Messages that only the manager sends itself.
type (
	begun struct{ *starting }
	gone  struct {
		child  *stdio.Child
		tenant string
	}
	released struct {
		up     transport.Upstream
		tenant string
	}
	// resume is what a new incarnation has to do for a tenant.
	resume struct {
		tenant string
		do     func()
	}
)

// Class says that it is owed: there is one for each program, start and transport.
func (resume) Class() otp.Class { return otp.Owed }

// Init takes over the children of the previous incarnation and waits for their ends again. It does so by
// messages to itself, so that a crash on one of them is charged to the tenant whose it is.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	var heir bool
	if m.kept, heir = p.Heir().(*kept); !heir {
		m.kept = &kept{last: m.last, children: map[*stdio.Child]*child{}, starts: map[*starting]bool{}, releases: map[transport.Upstream]closing{}}
		p.SetHeir(m.kept)
	}
	for _, c := range m.running() {
		_ = p.Post(resume{c.info.Tenant, func() { m.follow(c) }})
	}
	for s := range m.begun() {
		_ = p.Post(resume{s.call.Req.Tenant, func() { m.again(s) }})
	}
	for up, c := range m.closing() {
		_ = p.Post(resume{c.tenant, func() { m.release(up, c.tenant) }})
	}
	return nil
}

// again goes on with a start that the incarnation before had begun.
func (m *Manager) again(s *starting) {
	if !m.starts[s] {
		return
	}
	m.change(func() { delete(m.starts, s) })
	switch {
	case s.running():
		m.enter(s)
	case s.tries >= maxTries:
		s.call.Fail(errTries)
	default:
		m.begin(s.call, s.tries)
	}
}

// Receive handles one message.
func (m *Manager) Receive(p *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Start:
		m.start(msg)
	case begun:
		m.enter(msg.starting)
	case gone:
		m.forget(msg.child)
	case resume:
		msg.do()
	case otp.Down:
		m.orphaned(msg.Ref)
	case *Release:
		m.change(func() { m.releases[msg.Upstream] = closing{m.number(), msg.Tenant} })
		m.release(msg.Upstream, msg.Tenant)
	case released:
		m.change(func() { delete(m.releases, msg.up) })
	case *List:
		msg.Reply(m.list())
	}
	return nil
}

// start begins a start. It runs in a goroutine of the manager, because a start may wait for its turn.
func (m *Manager) start(call *Start) {
	m.orphaned(call.Req.Owner)
	m.begin(call, 0)
}

// begin starts a program for as long as somebody waits for it and this incarnation lasts. The next one begins again.
func (m *Manager) begin(call *Start, tries int) {
	s := &starting{call: call, tries: tries + 1, done: make(chan struct{})}
	m.change(func() {
		s.number = m.number()
		m.starts[s] = true
	})
	m.p.GoFor(call.Req.Tenant, "start "+call.Req.Server, func(ctx context.Context) error {
		wanted, cancel := context.WithCancel(call.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		s.child, s.err = m.spawner.Start(wanted, call.Req.Spec)
		close(s.done)
		err := m.p.PostWait(ctx, begun{s})
		if errors.Is(context.Cause(ctx), otp.ErrStuck) && s.child != nil && s.taken.CompareAndSwap(false, true) {
			m.last.end(s.child.Stop) // the next incarnation has begun the start anew
		}
		return err
	})
}

// refuse ends a start whose program nobody will get.
func (s *starting) refuse(ctx context.Context, reason error) {
	s.call.Fail(reason)
	select {
	case <-s.done:
	case <-ctx.Done():
		return
	}
	if s.child != nil {
		_ = s.child.Stop(ctx)
	}
}

// enter enters a child into the books and hands it out. One that nobody waits for any more is ended.
func (m *Manager) enter(s *starting) {
	m.change(func() { delete(m.starts, s) })
	if s.err != nil {
		s.call.Fail(s.err)
		return
	}
	if !s.taken.CompareAndSwap(false, true) {
		return
	}
	q := s.call.Req
	c := &child{s.child, Info{s.child.Pid(), q.Tenant, q.Server, q.Owner.Path()}, q.Owner, s.number}
	m.change(func() { m.children[s.child] = c })
	m.follow(c)
	if s.call.Context().Err() != nil {
		m.stop(c)
	}
	s.call.Reply(s.child)
}

// follow waits for the end of a child, and of whoever it runs for.
func (m *Manager) follow(c *child) {
	m.p.Monitor(c.owner)
	m.p.GoFor(c.info.Tenant, "child "+c.info.Server, func(ctx context.Context) error {
		select {
		case <-c.Gone():
			_ = m.p.PostWait(ctx, gone{c.Child, c.info.Tenant})
		case <-ctx.Done():
		}
		return nil
	})
}

func (m *Manager) forget(key *stdio.Child) {
	c, ok := m.children[key]
	if !ok {
		return
	}
	m.change(func() { delete(m.children, key) })
	for _, other := range m.children {
		if other.owner == c.owner {
			return
		}
	}
	m.p.Demonitor(c.owner)
}

// orphaned ends the children of an owner that is gone or wants another.
func (m *Manager) orphaned(owner otp.Ref) {
	for _, c := range m.running() {
		if c.owner == owner {
			m.stop(c)
		}
	}
}

func (m *Manager) stop(c *child) {
	m.p.GoFor(c.info.Tenant, "stop "+c.info.Server, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, CloseTimeout)
		defer cancel()
		return c.Stop(ctx)
	})
}

// release closes a transport without anybody waiting for it.
func (m *Manager) release(up transport.Upstream, tenant string) {
	m.p.GoFor(tenant, "close", func(ctx context.Context) error {
		closing, cancel := context.WithTimeout(ctx, CloseTimeout)
		defer cancel()
		err := up.Close(closing)
		_ = m.p.PostWait(ctx, released{up, tenant}) // the next incarnation releases it once more
		return err
	})
}

func (m *Manager) list() []Info {
	list := make([]Info, 0, len(m.children))
	for _, c := range m.children {
		list = append(list, c.info)
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.PID, b.PID) })
	return list
}

// Terminate ends every child when the manager stops for good. After a crash the next incarnation keeps them.
func (m *Manager) Terminate(_ *otp.Process, reason error) {
	if !otp.IsNormal(reason) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range m.running() {
		all.Go(func() { _ = c.Stop(ctx) })
	}
	for s := range m.begun() {
		all.Go(func() { s.refuse(ctx, reason) })
	}
	for up := range m.closing() {
		all.Go(func() { _ = up.Close(ctx) })
	}
	all.Wait()
}
