package testrig

import (
	"fmt"
	"sync"

	"mcpd/supervisor/otp"
)

// Stalls makes workers hang and continue: the next message of a type waits before it is handled.
// After its release it is handled in full, though the worker was replaced meanwhile. A fault that
// hangs a worker does less: a worker that was replaced does not begin with the message.
type Stalls struct {
	mu    sync.Mutex // guards what follows
	at    map[string]chan struct{}
	letGo []func()
}

// Arm makes the next message of a type, as %T prints it, wait at a worker that was made under this
// name. It is handled after letGo is called.
func (s *Stalls) Arm(name, kind string) (letGo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.at = map[string]chan struct{}{name + " " + kind: gate}
	letGo = sync.OnceFunc(func() { close(gate) })
	s.letGo = append(s.letGo, letGo)
	return letGo
}

// end releases all waiting messages, also after a failed test.
func (s *Stalls) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, letGo := range s.letGo {
		letGo()
	}
}

// Armed reports whether no such message has come yet.
func (s *Stalls) Armed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at) > 0
}

func (s *Stalls) take(name string, msg any) (gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	site := fmt.Sprintf("%s %T", name, msg)
	gate = s.at[site]
	delete(s.at, site)
	return gate
}

// Worker is otp.Worker, under a name.
func (s *Stalls) Worker(name string, f func() otp.Behaviour) otp.Start {
	return otp.Worker(func() otp.Behaviour { return s.Behaviour(name, f()) })
}

// Behaviour wraps the behaviour of a worker under a name.
func (s *Stalls) Behaviour(name string, b otp.Behaviour) otp.Behaviour {
	return &staller{b, s, name}
}

// WorkerWith is otp.WorkerWith, under a name that all its workers share.
func (s *Stalls) WorkerWith(name string, f func(args any) otp.Behaviour) otp.Start {
	return otp.WorkerWith(func(args any) otp.Behaviour { return &staller{f(args), s, name} })
}

type staller struct {
	otp.Behaviour
	s    *Stalls
	name string
}

func (b *staller) Receive(p *otp.Process, msg any) error {
	if gate := b.s.take(b.name, msg); gate != nil {
		<-gate
	}
	return b.Behaviour.Receive(p, msg)
}
