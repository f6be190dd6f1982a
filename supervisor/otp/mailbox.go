package otp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"mcpd/internal/highwater"
)

// mailbox is the queue in front of one process. It replaces protoactor's own mailboxes, which
// neither bound what they accept nor report what they drop.
//
//   - Messages of other processes are accepted up to an exact limit, which depends on their Class,
//     or refused at once. Messages that the process has asked for itself (timers, answers, Down
//     messages, the ends of its goroutines) are always accepted: their number is bounded by what it
//     has asked for.
//   - System messages come first. They flow even while the user queue is shut.
//   - The user queue is shut until the process says that it is ready, and again from the end of an
//     incarnation on. Only the guard opens and shuts it; protoactor's SuspendMailbox and
//     ResumeMailbox have no effect here.
//   - Once the mailbox is closed, everything left in it fails and nothing is accepted.
//   - Once its process is isolated, the goroutine gets no more messages. Waiting messages,
//     and those that arrive later, are kept for the process that takes its place.
//   - A panic or a runtime.Goexit in the handling of a message goes to the guard. The queue
//     continues.
//
// Under the lock the goroutine gets as many messages as it may handle in a row. It then goes
// through them with its cursor (cursor), without the lock. The messages stay in the queue
// meanwhile; code that needs the length of the queue calls reconcile first.
type mailbox struct {
	cursor   cursor // cursor: what the goroutine is at
	guard    *guard
	dispatch actor.Dispatcher
	run      func()
	turn     atomic.Pointer[mailbox] // mailbox with which the goroutine continues when it is done

	mu         sync.Mutex // guards the fields below
	system     queue[any]
	user       queue[mailboxEntry]
	reconciled uint32 // number of entries that cursor had taken at the last reconcile
	// oversized says that the user queue holds memory which the watch frees when the process is idle.
	// It is read without the lock.
	oversized  atomic.Bool
	limitCount int // waiting entries that count against the limit
	limit      int
	mark       *highwater.Mark // high-water mark of all mailboxes with the same label
	running    bool            // a goroutine works here or is about to
	open       bool
	closed     bool
	isolated   bool
	next       *mailbox // mailbox of the successor, which has taken over the waiting messages
	refused    bool     // an Overloaded event has been sent since the queue was last empty
	// current is, after reconcile, the user message being handled, nil once somebody has failed it.
	currentMessage any
	room           chan struct{} // closed when there is room; nil when nobody waits
}

var _ actor.Mailbox = (*mailbox)(nil)

// offer accepts a message of another process, if its class allows it.
func (m *mailbox) offer(msg any) error {
	limit := m.limit
	switch classOf(msg) {
	case Reserved:
		if !m.push(msg) {
			return ErrNoProc
		}
		return nil
	case BestEffort:
		limit = m.half()
	}
	err := m.admit(limit, msg)
	if err == ErrOverloaded {
		m.refuse()
	}
	return err
}

// half is the number of messages up to which BestEffort messages, and senders that wait in
// PostWait, may fill the mailbox. The rest is for other messages.
func (m *mailbox) half() int { return (m.limit + 1) / 2 }

// admit accepts a message while fewer than limit messages that count against the limit wait.
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
	if m.limitCount >= limit {
		if m.reconcile(); m.limitCount >= limit {
			m.mu.Unlock()
			return ErrOverloaded
		}
	}
	m.limitCount++
	m.put(mailboxEntry{msg, true})
	m.wake(m.open)
	return nil
}

// refuse reports the first refusal since the queue was last empty.
func (m *mailbox) refuse() {
	m.mu.Lock()
	first := !m.refused
	m.refused = true
	m.mu.Unlock()
	if first {
		m.guard.overloaded()
	}
}

// offerWait is offer, but waits for room until one of the contexts ends.
func (m *mailbox) offerWait(ctx, life context.Context, msg any) error {
	for {
		err := m.admit(m.half(), msg)
		if err != ErrOverloaded {
			return err
		}
		m.mu.Lock()
		// Room in this mailbox is of no use: messages go to the successor now.
		if m.next != nil {
			m.mu.Unlock()
			return ErrNoProc
		}
		m.cursor.interrupt() // makes the goroutine report when there is room
		m.reconcile()
		if m.closed || m.limitCount < m.half() {
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

// push accepts a message that the process has asked for, or a reserved one. It reports false when
// the mailbox is closed.
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
	m.put(mailboxEntry{msg: msg})
	m.wake(m.open)
	return true
}

// PostUserMessage is offer for messages of protoactor, which gets no error. A refused message is
// failed instead.
func (m *mailbox) PostUserMessage(msg any) {
	if err := m.offer(msg); err != nil {
		m.guard.sys.fail(m.guard.row.path, msg, err)
	}
}

// PostSystemMessage accepts a signal. Signals are few: some for each start and end of a child.
func (m *mailbox) PostSystemMessage(msg any) {
	switch msg.(type) {
	case *actor.SuspendMailbox, *actor.ResumeMailbox:
		return // only the guard opens and shuts the mailbox
	}
	m.mu.Lock()
	m.system.push(msg)
	m.cursor.interrupt()
	m.wake(true)
}

// wake starts a goroutine if there is work and none is at work. The caller holds the lock; wake
// unlocks it.
func (m *mailbox) wake(work bool) {
	start := work && !m.running && m.dispatch != nil
	if start {
		m.running = true
	}
	m.mu.Unlock()
	if start {
		m.guard.sys.watch.wake()
		m.dispatch.Schedule(m.run)
	}
}

// RegisterHandlers is called once by protoactor, before any message.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.mu.Lock()
	m.guard.attach(invoker)
	m.run = m.process
	m.dispatch = dispatcher
	m.wake(m.system.len() > 0)
}

// Start does nothing; protoactor requires it.
func (m *mailbox) Start() {}

// UserMessageCount returns how many messages wait.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcile()
	return m.user.len()
}

// pauseUser stops the flow of user messages, resumeUser starts it. Only the process's own goroutine
// calls them.
func (m *mailbox) pauseUser()  { m.setOpen(false) }
func (m *mailbox) resumeUser() { m.setOpen(true) }

func (m *mailbox) setOpen(open bool) {
	m.mu.Lock()
	// An isolated mailbox stays shut: its messages belong to the successor, even when Init returns
	// late.
	m.open = open && !m.isolated
	m.cursor.interrupt()
	m.mu.Unlock()
}

// close refuses everything from now on. It returns the waiting messages, which the caller must
// fail. With taken they include the message being handled, because an abandoned process will not
// answer it. busy reports whether a goroutine is at work.
func (m *mailbox) close(reason error, taken bool) (left []failedMessage, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.next != nil {
		return nil, false
	}
	m.closed, busy = true, m.running
	m.cursor.interrupt()
	m.reconcile()
	if taken && m.currentMessage != nil {
		left = append(left, failedMessage{m.guard.row.path, m.currentMessage, reason})
	}
	m.currentMessage = nil
	for waiting := m.user.move(); waiting.len() > 0; {
		left = append(left, failedMessage{m.guard.row.path, waiting.pop().msg, reason})
	}
	m.wakeWaiters()
	return left, busy
}

// claim takes over the message being handled, which the caller must then fail. It reports false
// when somebody else has done so.
func (m *mailbox) claim() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcile()
	mine := m.currentMessage != nil
	m.currentMessage = nil
	return mine
}

// wakeWaiters wakes the goroutines that wait for room. The caller holds the lock.
func (m *mailbox) wakeWaiters() {
	if m.room != nil {
		close(m.room)
		m.room = nil
	}
}

// process works until there is nothing to do, here and in the mailboxes whose turn was handed over.
// A Goexit, from a message or from a Fail, ends the goroutine; then another one is scheduled.
func (m *mailbox) process() {
	defer func() {
		if m != nil {
			m.dispatch.Schedule(m.run)
		}
	}()
	for n := 1; m != nil; {
		next, again := m.work()
		if again {
			continue
		}
		if m = next; m != nil && n%maxTurns == 0 {
			runtime.Gosched()
		}
		n++
	}
}

// take returns the message to handle now and the entries of the user queue that may follow it,
// together no more than most. If there is nothing to do, ok is false and the goroutine continues
// elsewhere or ends. This is decided under the lock, so that no wake-up is lost.
func (m *mailbox) take(most int) (msg any, more []mailboxEntry, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcile()
	m.currentMessage = nil
	if m.system.len() > 0 {
		m.cursor.signal(m.tick())
		msg = m.system.pop()
		m.system.trim()
		return msg, nil, true, true
	}
	if m.open && m.user.len() > 0 {
		if m.room != nil { // waiters must hear about each message
			most = 1
		}
		entries := m.user.front(most)
		msg = entries[0].msg
		m.cursor.first(m.tick())
		m.reconcile()
		if m.limitCount < m.half() {
			m.wakeWaiters()
		}
		return msg, entries[1:], false, true
	}
	m.running = false
	m.cursor.rest()
	return nil, nil, false, false
}

// progress tells the watch that the goroutine makes progress with the message that it handles.
func (m *mailbox) progress() {
	tick := m.tick()
	if m.cursor.at().tick() == tick || m.cursor.again(tick) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cursor.stamp(tick)
}

func (m *mailbox) tick() uint64 { return m.guard.sys.watch.tick.Load() }

// work handles messages until there are none (again is false; next is the mailbox that has its
// turn) or one panicked (again is true).
func (m *mailbox) work() (next *mailbox, again bool) {
	var msg any
	idle := false
	defer func() {
		if idle {
			return
		}
		value := recover()
		if value == nil {
			value = ErrGoexit
		}
		m.guard.EscalateFailure(value, msg)
		again = true
	}()
	limit := m.dispatch.Throughput()
	for n := 0; ; {
		var more []mailboxEntry
		var system, ok bool
		next = m.turn.Swap(nil) // another goroutine's unless there is nothing to take
		if msg, more, system, ok = m.take(limit - n); !ok {
			idle = true
			return next, false
		}
		m.scheduleHandedOver(next)
		n++
		if system {
			m.guard.InvokeSystemMessage(msg)
		} else {
			m.guard.InvokeUserMessage(msg)
		}
		// l is read before the cursor reaches its entry. From then on any reconcile clears the slot.
		for _, l := range more {
			if m.turn.Load() != nil {
				m.scheduleHandedOver(m.turn.Swap(nil))
			}
			if !m.cursor.next(m.tick()) {
				break
			}
			n++
			msg = l.msg
			m.guard.InvokeUserMessage(msg)
		}
		if n >= limit {
			if m.guard.sys.scheduler != nil { // the scheduler decides whose turn it is
				idle = true
				m.dispatch.Schedule(m.run)
				return nil, false
			}
			n = 0
			runtime.Gosched()
		}
	}
}
