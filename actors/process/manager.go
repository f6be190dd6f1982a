// Package process holds the process manager, the only owner of child processes. It starts them,
// knows for whom they run, and makes sure that no process is left when a child is no longer needed.
// It does not read their output: the connection that asked for a child does.
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

	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// CloseTimeout bounds the closing of one transport: the six seconds of the ladder for a program,
// and a DELETE for a remote server.
const CloseTimeout = 8 * time.Second

// maxTries is how many incarnations begin a start before it fails: the start may be the cause of
// their crashes.
const maxTries = 3

var errTries = errors.New("the start was broken off too often")

// child is one running program as the manager records it.
type child struct {
	*stdio.Child
	info   Info
	owner  otp.Ref
	number uint64 // its number among children and starts, by age
}

// starting is a program that is being started.
type starting struct {
	call   *Start
	number uint64 // its number among children and starts, by age
	tries  int    // incarnations that have begun it, including this one
	// taken is set by the goroutine that takes charge of the child, or ends it.
	taken atomic.Bool
	done  chan struct{} // closed when the fields below are set
	child *stdio.Child
	err   error
}

// running reports whether the start has succeeded.
func (s *starting) running() bool {
	select {
	case <-s.done:
		return s.child != nil
	default:
		return false
	}
}

// carriedState is the carried state. Children outlive a crash of their manager and do not notice
// it, and so do those that are being started.
//
// A manager that hangs can lose its carried state to the next incarnation at any moment. So it
// changes that state only within change, which exits if the state is lost.
type carriedState struct {
	mu       sync.Mutex // held by changes, and by Detach
	last     *Closer
	numbers  uint64 // the last number given out
	children map[*stdio.Child]*child
	starts   map[*starting]bool
	releases map[transport.Upstream]closing
}

// closing is a transport that is being closed.
type closing struct {
	number uint64 // its number among releases, by age
	tenant string
}

// number returns the next number. Children, starts and releases are iterated in the order of their
// numbers, so that the order of a map never matters.
func (k *carriedState) number() uint64 {
	k.numbers++
	return k.numbers
}

func (k *carriedState) running() iter.Seq2[*stdio.Child, *child] {
	return sortedmap.SortedBy(k.children, func(a, b *stdio.Child) int {
		return cmp.Compare(k.children[a].number, k.children[b].number)
	})
}

func (k *carriedState) begun() iter.Seq2[*starting, bool] {
	return sortedmap.SortedBy(k.starts, func(a, b *starting) int {
		return cmp.Compare(a.number, b.number)
	})
}

func (k *carriedState) closing() iter.Seq2[transport.Upstream, closing] {
	return sortedmap.SortedBy(k.releases, func(a, b transport.Upstream) int {
		return cmp.Compare(k.releases[a].number, k.releases[b].number)
	})
}

// Detach takes the children from a stuck manager; see otp.Detachable.
func (k *carriedState) Detach() any {
	if !k.mu.TryLock() { // the stuck manager is amid a change
		return nil
	}
	defer k.mu.Unlock()
	return &carriedState{
		last: k.last, numbers: k.numbers,
		children: maps.Clone(k.children), starts: maps.Clone(k.starts), releases: maps.Clone(k.releases),
	}
}

// change changes the carried state, unless this incarnation has lost it.
func (m *Manager) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Check()
	f()
}

// Abandon fails the waiting starts, ends the programs and closes the released transports, because
// no manager will know of them any more. The owners of the programs start them again.
func (k *carriedState) Abandon(reason error) {
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
	last    *Closer
	p       *otp.Process
	*carriedState
}

// New makes one incarnation. The spawner and last outlive it.
func New(spawner *stdio.Spawner, last *Closer) *Manager {
	return &Manager{spawner: spawner, last: last}
}

// Messages that the manager sends to itself.
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
	// resume carries work of a new incarnation for one tenant.
	resume struct {
		tenant string
		do     func()
	}
)

// Class says that it is reserved: there is one for each program, start and transport.
func (resume) Class() otp.Class { return otp.Reserved }

// Init restores the children of the previous incarnation and waits for their ends again. It does so
// by messages to itself, so that a crash on one of them is charged to the tenant of that child.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	var restored bool
	if m.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		m.carriedState = &carriedState{
			last: m.last, children: map[*stdio.Child]*child{}, starts: map[*starting]bool{},
			releases: map[transport.Upstream]closing{},
		}
		p.SetCarriedState(m.carriedState)
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

// again continues a start that the previous incarnation had begun.
func (m *Manager) again(s *starting) {
	if !m.starts[s] {
		return
	}
	m.change(func() { delete(m.starts, s) })
	switch {
	case s.running():
		m.register(s)
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
		m.register(msg.starting)
	case gone:
		m.forget(msg.child)
	case resume:
		msg.do()
	case otp.Down:
		m.stopChildrenOf(msg.Ref)
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

// start begins a start. The start runs in a goroutine of the manager, because it may wait for its
// turn.
func (m *Manager) start(call *Start) {
	call.AnswerLater()
	m.stopChildrenOf(call.Req.Owner)
	m.begin(call, 0)
}

// begin starts a program. The start is cancelled when the caller gives up or this incarnation ends;
// the next incarnation begins again.
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
		if errors.Is(context.Cause(ctx), otp.ErrStuck) && s.child != nil &&
			s.taken.CompareAndSwap(false, true) {
			m.last.end(s.child.Stop) // the next incarnation has begun the start again
		}
		return err
	})
}

// refuse fails a start and ends its program.
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

// register records a child and replies with it. A child whose caller has given up is ended.
func (m *Manager) register(s *starting) {
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
	if !s.call.Reply(s.child) {
		m.stop(c)
	}
}

// follow waits for the end of a child, and of its owner.
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

// stopChildrenOf ends the children of an owner that is gone, or that starts another.
func (m *Manager) stopChildrenOf(owner otp.Ref) {
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

// release closes a transport in the background.
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

// Terminate ends every child when the manager stops for good. After a crash the next incarnation
// keeps them.
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
