package otp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

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
//
// Under its lock the goroutine is given as many letters as it may handle in a row, and goes through them by its hand alone. Until then they stay in
// the queue; whoever needs to know how much is left there settles first.
type mailbox struct {
	hand     hand // what the goroutine is at
	guard    *guard
	dispatch actor.Dispatcher
	run      func()
	turn     atomic.Pointer[mailbox] // what the goroutine at work goes on with when it is done

	mu      sync.Mutex // guards the fields below
	system  queue[any]
	user    queue[letter]
	settled uint32      // how many letters the hand had taken when they were last taken out of the queue
	swollen atomic.Bool // the user queue holds memory that the watch takes back when there is nothing to do; it is read without the lock
	taken   int         // of the limit: the letters that wait for which there had to be room
	limit   int
	mark    *water.Mark // of all mailboxes of the class
	running bool        // a goroutine is at work or about to be
	open    bool
	closed  bool
	fenced  bool
	next    *mailbox      // of the process that has taken its place, and what waited here
	refused bool          // an Overloaded event has been sent since the queue was last empty
	current any           // once it is settled, the user message being handled, as long as nobody has failed it
	room    chan struct{} // closed when there is room again; nil when nobody waits
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
		if m.settle(); m.taken >= limit {
			m.mu.Unlock()
			return ErrOverloaded
		}
	}
	m.taken++
	m.put(letter{msg, true})
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
		if m.next != nil { // what is waited for here is of no use to the process that has taken its place
			m.mu.Unlock()
			return ErrNoProc
		}
		m.hand.ring() // the goroutine says when there is room
		m.settle()
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
	m.put(letter{msg: msg})
	m.wake(m.open)
	return true
}

// PostUserMessage is offer for messages of protoactor, which cannot be told; what is refused is failed.
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
	m.hand.ring()
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
	m.settle()
	return m.user.len()
}

// shut stops the flow of user messages, unshut starts it. Both are for the process's own goroutine.
func (m *mailbox) shut()   { m.setOpen(false) }
func (m *mailbox) unshut() { m.setOpen(true) }

func (m *mailbox) setOpen(open bool) {
	m.mu.Lock()
	m.open = open && !m.fenced // what waits is its successor's: who comes back late from Init is ready for nothing
	m.hand.ring()
	m.mu.Unlock()
}

// close refuses everything from now on. What is left is the caller's to tell of: with taken also the message being handled, because the process has
// been abandoned and will not answer it. Close reports whether it is busy.
func (m *mailbox) close(reason error, taken bool) (left []lost, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.next != nil {
		return nil, false
	}
	m.closed, busy = true, m.running
	m.hand.ring()
	m.settle()
	if taken && m.current != nil {
		left = append(left, lost{m.guard.row.path, m.current, reason})
	}
	m.current = nil
	for waiting := m.user.move(); waiting.len() > 0; {
		left = append(left, lost{m.guard.row.path, waiting.pop().msg, reason})
	}
	m.crowd()
	return left, busy
}

// claim takes charge of the message in hand, whose failure is then the caller's to tell; it reports false when somebody else has done so.
func (m *mailbox) claim() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
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

// process works until there is nothing to do, here and where the turn was handed over. A Goexit takes the goroutine with it, whether it comes from a
// message or from what is told of its failure, so another goes on.
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

// take takes the message to handle now, and of the user queue those that may follow it, at most so many in all. Nothing to do means that the
// goroutine goes on elsewhere or ends, decided under the lock, so that no wake-up is lost.
func (m *mailbox) take(most int) (msg any, more []letter, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
	m.current = nil
	if m.system.len() > 0 {
		m.hand.signal(m.tick())
		msg = m.system.pop()
		m.system.trim()
		return msg, nil, true, true
	}
	if m.open && m.user.len() > 0 {
		if m.room != nil { // who waits for it is to hear of every letter
			most = 1
		}
		letters := m.user.front(most)
		msg = letters[0].msg
		m.hand.first(m.tick())
		m.settle()
		if m.taken < m.half() {
			m.crowd()
		}
		return msg, letters[1:], false, true
	}
	m.running = false
	m.hand.rest()
	return nil, nil, false, false
}

// progress tells the watch that the goroutine gets on with what it has in hand.
func (m *mailbox) progress() {
	tick := m.tick()
	if m.hand.at().tick() == tick || m.hand.again(tick) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hand.stamp(tick)
}

func (m *mailbox) tick() uint64 { return m.guard.sys.watch.tick.Load() }

// work handles messages until there are none (false, and whose turn it is then) or one panicked (true).
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
		var more []letter
		var system, ok bool
		next = m.turn.Swap(nil) // another goroutine's unless there is nothing to take
		if msg, more, system, ok = m.take(limit - n); !ok {
			idle = true
			return next, false
		}
		m.release(next)
		n++
		if system {
			m.guard.InvokeSystemMessage(msg)
		} else {
			m.guard.InvokeUserMessage(msg)
		}
		for _, l := range more { // it is read before the hand is on it: from then on whoever settles clears its slot
			if m.turn.Load() != nil {
				m.release(m.turn.Swap(nil))
			}
			if !m.hand.next(m.tick()) {
				break
			}
			n++
			msg = l.msg
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
