package otp

// failedMessage is a message that nobody handles any more, and the reason.
type failedMessage struct {
	path   string
	msg    any
	reason error
}

// failAll fails lost messages. It is the last action of its caller, because a Fail may end the
// goroutine.
func (s *System) failAll(all []failedMessage) {
	each(all, func(l failedMessage) { s.fail(l.path, l.msg, l.reason) })
}

// each calls f with every element, even if f ends the goroutine or panics.
func each[T any](all []T, f func(T)) {
	defer func() {
		if len(all) > 0 { // f did not return
			each(all, f)
		}
	}()
	for len(all) > 0 {
		one := all[0]
		all = all[1:]
		f(one)
	}
}
