// Package otp is as much of the real one as the rules look at.
package otp

type Ref struct{}

func (Ref) Send(msg any) error { return nil }

type Process struct{}

func (*Process) Send(to interface{ Send(any) error }, msg any) error { return to.Send(msg) }
