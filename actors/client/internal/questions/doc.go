// Package questions knows which questions of a server its clients are answering, and which calls
// wait for which users because of them. A server on a pipe that asks a user something takes no
// other call that may ask its user until it has the answer, which can take minutes. When every
// instance of a server has such a call, the calls that wait for their turn are written beside it.
// Otherwise a few users who do not answer would keep everybody else from the server. A question
// that could then be of more than one call is refused, so none ever reaches the wrong user. A call
// that still has to wait is refused in the end.
//
// The package knows no clock, no connection and no session: it is told the time and which calls are
// in flight. A Table belongs to one server and is lost with it. Dialogs belongs to one incarnation
// of the server's connection.
package questions
