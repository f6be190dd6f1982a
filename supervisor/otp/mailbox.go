package otp

import (
	"context"
	"runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"mcpd/internal/water"
)

// mailbox is the queue in front of one process, in place of protoactor's own ones, which neither bound what they accept
// nor say what they drop.
//
//   - What others send is accepted up to an exact limit, which its Class decides, or refused at once. What the process has
//     asked for itself (timers, answers, news of those it watches, its goroutines' ends) is always accepted: it is bounded
//     by what it has asked for.
//   - System messages come first and flow while the user queue is shut.
//   - The user queue is shut until the process says that it is ready, and again from its end on. Only the guard opens and
//     shuts it; protoactor's SuspendMailbox and ResumeMailbox have no effect here.
//   - Once closed, everything left is failed and nothing is accepted.
//   - Once fenced, its goroutine gets nothing more, and what waits is kept for the process that takes its place, as is what comes until then.
//   - A panic or a runtime.Goexit while a message is handled goes to the guard; the queue goes on.
type mailbox struct {
	guard    *guard
	dispatch actor.Dispatcher
	run      func()
	turn     *mailbox // what the goroutine at work goes on with when it is done; its own

	mu      sync.Mutex // guards the fields below
	system  queue[any]
	user    queue[letter]
	taken   int // of the limit: the letters that wait for which there had to be room
	limit   int
	mark    *water.Mark // of all mailboxes of the class
	running bool        // a goroutine is at work or about to be
	open    bool
	closed  bool
	fenced  bool
	next    *mailbox      // of the process that has taken its place, and what waited here
	refused bool          // an Overloaded event has been sent since the queue was last empty
	current any           // the user message being handled, as long as nobody has failed it
	since   uint64        // the watch's tick at which what is being handled was begun; 0: nothing is
	room    chan struct{} // closed when there is room again; nil when nobody waits
}

// letter is a message of the user queue.
type letter struct {
	msg  any
	room bool // it takes some of the limit; what the process has asked for or is owed does not
}

var _ actor.Mailbox = (*mailbox)(nil)

// offer accepts a message of somebody else, as far as its class allows.
func (m *mailbox) offer(msg any) error {
	limit := m.limit
	switch classOf(msg) {
	case Owed:
		if !m.push(msg) {
			return ErrNoProc
		}
		return nil
	case Sheddable:
		limit = m.half()
	}
	err := m.admit(limit, msg)
	if err == ErrOverloaded {
		m.refuse()
	}
	return err
}

// half is how much of the mailbox those may fill who can wait for room or are not missed: the rest is for those who cannot and are.
func (m *mailbox) half() int { return (m.limit + 1) / 2 }

// admit accepts a message while fewer than limit wait for which there had to be room.
func (m *mailbox) admit(limit int, msg any) error {
	m.mu.Lock()
	if next := m.next; next != nil {
		m.mu.Unlock()
		return next.admit(limit, msg)
	}
	if m.closed {
		m.mu.Unlock()
		return ErrNoProc
	}
	if m.taken >= limit {
		m.mu.Unlock()
		return ErrOverloaded
	}
	m.taken++
	m.user.push(letter{msg, true})
	m.mark.Note(m.user.len())
	m.wake(m.open)
	return nil
}

// refuse tells of the first refusal since the queue was last empty.
func (m *mailbox) refuse() {
	m.mu.Lock()
	first := !m.refused
	m.refused = true
	m.mu.Unlock()
	if first {
		m.guard.overloaded()
	}
}

// offerWait is offer that waits for room until one of the contexts ends.
func (m *mailbox) offerWait(ctx, life context.Context, msg any) error {
	for {
		err := m.admit(m.half(), msg)
		if err != ErrOverloaded {
			return err
		}
		m.mu.Lock()
		if m.closed || m.taken < m.half() {
			m.mu.Unlock()
			continue
		}
		if m.room == nil {
			m.room = make(chan struct{})
		}
		room := m.room
		m.mu.Unlock()
		if s := m.guard.sys.scheduler; s != nil {
			s.Wait(func() bool { return isClosed(room) || ctx.Err() != nil || life.Err() != nil })
			if isClosed(room) {
				continue
			}
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-life.Done():
			return ErrNoProc
		}
	}
}

// push accepts a message that the process has asked for or is owed, and reports false when it is closed.
func (m *mailbox) push(msg any) bool {
	m.mu.Lock()
	if next := m.next; next != nil {
		m.mu.Unlock()
		return next.push(msg)
	}
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.user.push(letter{msg: msg})
	m.mark.Note(m.user.len())
	m.wake(m.open)
	return true
}

// PostUserMessage is offer for messages that come by way of a protoactor PID; what is refused is failed.
func (m *mailbox) PostUserMessage(msg any) {
	if err := m.offer(msg); err != nil {
		m.guard.sys.fail(m.guard.row.path, msg, err)
	}
}

// PostSystemMessage accepts a signal. Signals are few: some for each start and end of a child.
func (m *mailbox) PostSystemMessage(msg any) {
	switch msg.(type) {
	case *actor.SuspendMailbox, *actor.ResumeMailbox:
		return // the guard alone opens and shuts it
	}
	m.mu.Lock()
	m.system.push(msg)
	m.wake(true)
}

// wake starts a goroutine if there is something for it to do and none is at work. It unlocks.
func (m *mailbox) wake(work bool) {
	start := work && !m.running && m.dispatch != nil
	if start {
		m.running = true
	}
	m.mu.Unlock()
	if start {
		m.guard.sys.watch.stir()
		m.dispatch.Schedule(m.run)
	}
}

// RegisterHandlers is called by protoactor once, before any message.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.mu.Lock()
	m.guard.attach(invoker)
	m.run = m.process
	m.dispatch = dispatcher
	m.wake(m.system.len() > 0)
}

// Start has nothing to do.
func (m *mailbox) Start() {}

// UserMessageCount is how many messages wait.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// shut stops the flow of user messages, unshut starts it. Both are for the process's own goroutine.
func (m *mailbox) shut()   { m.setOpen(false) }
func (m *mailbox) unshut() { m.setOpen(true) }

func (m *mailbox) setOpen(open bool) {
	m.mu.Lock()
	m.open = open && !m.fenced // what waits is its successor's: who comes back late from Init is ready for nothing
	m.mu.Unlock()
}

// close refuses everything from now on and fails what is left. Taken is the message being handled, which is failed as
// well when the process has been abandoned and will not answer it. Close reports whether it is busy.
func (m *mailbox) close(reason error, taken bool) (busy bool) {
	m.mu.Lock()
	if m.closed || m.next != nil {
		m.mu.Unlock()
		return false
	}
	m.closed, busy = true, m.running
	left := m.user
	m.user = queue[letter]{}
	current := m.current
	m.current = nil
	m.crowd()
	m.mu.Unlock()
	if taken && current != nil {
		m.guard.sys.fail(m.guard.row.path, current, reason)
	}
	for left.len() > 0 {
		m.guard.sys.fail(m.guard.row.path, left.pop().msg, reason)
	}
	return busy
}

// claim takes charge of the message in hand, whose failure is then the caller's to tell; it reports false when somebody else has done so.
func (m *mailbox) claim() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	mine := m.current != nil
	m.current = nil
	return mine
}

// crowd wakes those who wait for room. The caller has the lock.
func (m *mailbox) crowd() {
	if m.room != nil {
		close(m.room)
		m.room = nil
	}
}

// process works until there is nothing to do, here and where the turn was handed over.
func (m *mailbox) process() {
	for m != nil {
		if next, again := m.work(); !again {
			m = next
		}
	}
}

// take takes the message to handle now. Nothing to do means that the goroutine goes on elsewhere or ends, decided under the lock, so that no
// wake-up is lost.
func (m *mailbox) take() (msg any, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current, m.since = nil, 0
	if m.system.len() > 0 {
		m.since = m.guard.sys.watch.tick.Load()
		return m.system.pop(), true, true
	}
	if m.open && m.user.len() > 0 {
		m.since = m.guard.sys.watch.tick.Load()
		l := m.user.pop()
		msg = l.msg
		m.current = msg
		if l.room {
			m.taken--
		}
		if m.taken < m.half() {
			m.crowd()
		}
		if m.user.len() == 0 {
			m.refused = false
		}
		return msg, false, true
	}
	m.running = false
	return nil, false, false
}

// work handles messages until there are none (false, and whose turn it is then) or one panicked (true). A Goexit takes the goroutine with it, so
// another goes on.
func (m *mailbox) work() (next *mailbox, again bool) {
	var msg any
	idle := false
	defer func() {
		if idle {
			return
		}
		value := recover()
		if value == nil {
			defer m.dispatch.Schedule(m.run)
			value = ErrGoexit
		}
		m.guard.EscalateFailure(value, msg)
		again = true
	}()
	limit := m.dispatch.Throughput()
	for n := 1; ; n++ {
		var system, ok bool
		next, m.turn = m.turn, nil // another goroutine's once there is nothing to take
		if msg, system, ok = m.take(); !ok {
			idle = true
			return next, false
		}
		if next != nil {
			m.dispatch.Schedule(next.run)
		}
		if system {
			m.guard.InvokeSystemMessage(msg)
		} else {
			m.guard.InvokeUserMessage(msg)
		}
		if n >= limit {
			if m.guard.sys.scheduler != nil { // whose turn it is now is not for the machine to say
				idle = true
				m.dispatch.Schedule(m.run)
				return nil, false
			}
			n = 0
			runtime.Gosched()
		}
	}
}
