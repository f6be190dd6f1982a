package streamable

// channelIdle registers the stream of a channel as a waiting stream while no request is in flight,
// so that it can be closed in favour of others, as a GET stream can. The mutex of the channel
// guards it.
type channelIdle struct {
	at       idleRegistration
	response *streamResponse
	end      func() // unregisters the stream; nil while it is not registered
}

// begin is called when the stream has a connection.
func (r *channelIdle) begin(at idleRegistration, o *streamResponse, busy bool) {
	r.setBusy()
	r.at, r.response = at, o
	if !busy {
		r.setIdle()
	}
}

// leave is called when a connection of the stream has ended. It reports whether that connection was
// the newest.
func (r *channelIdle) leave(o *streamResponse) bool {
	if r.response != o {
		return false
	}
	r.setBusy()
	*r = channelIdle{}
	return true
}

// setBusy is called before a request is accepted.
func (r *channelIdle) setBusy() {
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// setIdle is called when no request is in flight any more.
func (r *channelIdle) setIdle() {
	if r.response != nil && r.end == nil {
		r.end = r.at.waits(r.response)
	}
}
