package streamable

// channelRest registers the stream of a channel as a waiting stream while no request is in flight,
// so that it can be closed in favour of others, as a GET stream can. The mutex of the channel
// guards it.
type channelRest struct {
	at     waiter
	outlet *outlet
	end    func() // unregisters the stream; nil while it is not registered
}

// begin is called when the stream has a connection.
func (r *channelRest) begin(at waiter, o *outlet, busy bool) {
	r.wake()
	r.at, r.outlet = at, o
	if !busy {
		r.sleep()
	}
}

// leave is called when a connection of the stream has ended. It reports whether that connection was
// the newest.
func (r *channelRest) leave(o *outlet) bool {
	if r.outlet != o {
		return false
	}
	r.wake()
	*r = channelRest{}
	return true
}

// wake is called before a request is accepted.
func (r *channelRest) wake() {
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// sleep is called when no request is in flight any more.
func (r *channelRest) sleep() {
	if r.outlet != nil && r.end == nil {
		r.end = r.at.waits(r.outlet)
	}
}
