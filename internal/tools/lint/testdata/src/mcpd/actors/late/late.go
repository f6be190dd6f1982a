package late

import "mcpd/supervisor/otp"

type actor struct {
	p  *otp.Process
	to otp.Ref
}

func (a *actor) Receive(p *otp.Process, msg any) error {
	_ = a.p.Send(a.to, msg)
	// late: it is over, whoever says so.
	_ = a.to.Send(msg)
	return a.to.Send(msg) // want `a.to.Send past p: .*late:`
}

func (a *actor) tell(msg any) {
	func() { _ = a.to.Send(msg) }() // want `a.to.Send past a.p: .*late:`
}

// message has no process.
type message struct{ to otp.Ref }

func (m message) Fail(error) { _ = m.to.Send(m) }

// sink has a method of that name that is no mailbox's.
type sink struct{}

func (sink) Send(text string) error { return nil }

func (a *actor) write(s sink) { _ = s.Send("") }
