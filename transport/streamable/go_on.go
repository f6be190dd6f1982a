//go:build !broken_replay

package streamable

// goOn is the event id after which a stream that is resumed goes on. With the tag broken_replay it is one too far: experiments must find that out.
func goOn(id eventID) eventID { return id }
