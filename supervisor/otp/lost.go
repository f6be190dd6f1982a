package otp

// lost is a message that nobody handles any more, and why.
type lost struct {
	path   string
	msg    any
	reason error
}

// mourn tells of messages that are lost. It is the last thing that its caller does, because a Fail may take the goroutine with it.
func (s *System) mourn(all []lost) {
	each(all, func(l lost) { s.fail(l.path, l.msg, l.reason) })
}

// each calls f with every one of them, whatever f does to the goroutine.
func each[T any](all []T, f func(T)) {
	defer func() {
		if len(all) > 0 { // f did not come back
			each(all, f)
		}
	}()
	for len(all) > 0 {
		one := all[0]
		all = all[1:]
		f(one)
	}
}
